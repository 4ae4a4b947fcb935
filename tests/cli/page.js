// page.js PAGE REPORT: opens a profile's page in Chromium and compares it with `tilework profile
// --json`; needs playwright-core (NODE_PATH) and a Chromium ($CHROMIUM or chromium).
"use strict";
const { chromium } = require("playwright-core");
const fs = require("fs"), path = require("path");
const assert = require("assert");

(async () => {
    const report = JSON.parse(fs.readFileSync(process.argv[3]));
    const browser = await chromium.launch({
        executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
        args: ["--no-sandbox"],
    });
    const page = await browser.newPage();
    const problems = [];
    page.on("pageerror", error => problems.push(String(error)));
    page.on("request", request => {
        if (!request.url().startsWith("file:")) problems.push(request.url());
    });
    await page.goto("file://" + path.resolve(process.argv[2]));
    await page.waitForFunction(() => document.body.dataset.ready);
    const ready = await page.evaluate(() => performance.now());
    const sums = await page.$$eval("#totals [data-cause]", cells =>
        Object.fromEntries(cells.map(cell => [cell.dataset.cause, Number(cell.dataset.mean)])));
    // The report prints 9 digits.
    for (const [cause, printed] of Object.entries(report.cycles_by_cause))
        assert(Math.abs(sums[cause] - printed) <= 1e-8 * printed, cause);
    const view = () => page.evaluate(() => document.body.dataset.view.split(" ").map(Number));
    const last = report.tiles - 1, before = await view();
    await page.locator("#line").hover();
    await page.mouse.wheel(0, -500);
    await page.waitForFunction(old => document.body.dataset.view !== old,
        before.map(v => v.toFixed(1)).join(" "));
    const after = await view();
    assert(after[1] - after[0] < before[1] - before[0], "zoom");
    await page.fill("#find", String(last));
    await page.click("#go");
    assert((await page.textContent("#tip")).startsWith(`tile ${last}: `), "find");
    await page.waitForFunction(tile => {
        const [, , low, high] = document.body.dataset.view.split(" ").map(Number);
        return low <= tile && tile < high && high - low < 30;
    }, last);
    assert.deepStrictEqual(problems, []);
    console.log(`page ready after ${ready.toFixed(0)} ms, finds tile ${last}, sums agree`);
    await browser.close();
})().catch(error => { console.error(error); process.exit(1); });
