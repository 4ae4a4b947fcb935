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
    const keys = { predicted: "predicted_by_cause", scheduled: "scheduled_by_cause",
        simulated: "cycles_by_cause" };
    for (const [figure, key] of Object.entries(keys)) {
        const sums = await page.$$eval(`#totals-${figure} [data-cause]`, cells =>
            Object.fromEntries(cells.map(cell => [cell.dataset.cause, Number(cell.dataset.mean)])));
        assert.deepStrictEqual(sums, report[key], figure);
    }
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
    assert.strictEqual(await page.inputValue("#mtile"), String(last));
    const steps = await page.$$eval("#mstep option", options => options.map(o => o.value));
    for (const step of [steps[0], steps[Math.floor(steps.length / 2)]]) {
        await page.selectOption("#mstep", step);
        assert((await page.textContent("#mtip")).startsWith(`tile ${last}: `), "memory");
        assert((await page.locator("#buffers tr").count()) > 1, "buffers");
    }
    assert.deepStrictEqual(problems, []);
    console.log(`page ready after ${ready.toFixed(0)} ms, finds tile ${last}, sums agree`);
    await browser.close();
})().catch(error => { console.error(error); process.exit(1); });
