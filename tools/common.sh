# Sourced by ./dev and the scripts of tools/: messages, and set-up by Debian package name.
# shellcheck shell=bash

say() { printf '\n== %s\n' "$*"; }

die() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 1
}

# Entries are PROBE=PACKAGE. A probe is a command, "pc:NAME" for pkg-config, or "file:PATTERN".
# Prints the packages whose probe fails, each once.
missing_packages() {
    local entry probe
    for entry; do
        probe=${entry%=*}
        case $probe in
        pc:*) pkg-config --exists "${probe#pc:}" ;;
        file:*) compgen -G "${probe#file:}" ;;
        *) command -v "$probe" ;;
        esac >/dev/null 2>&1 || printf '%s\n' "${entry##*=}"
    done | sort -u
}

# Installs what is missing. On failure returns 1 with the reason, one line, in install_error.
try_install() {
    local packages log=build/packages.log
    mapfile -t packages < <(missing_packages "$@")
    ((${#packages[@]} > 0)) || return 0
    install_error="missing Debian packages: ${packages[*]}"
    if ! command -v apt-get >/dev/null; then
        install_error+=" (no apt-get here: install what they hold by hand)"
        return 1
    fi
    if ((EUID != 0)); then
        install_error+=" (as root: apt-get install ${packages[*]})"
        return 1
    fi
    say "installing ${packages[*]}"
    mkdir -p build
    local apt=(apt-get -qq -y -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3)
    # Failed updates are judged by the installation: the lists may be good enough.
    if [[ -z ${packages_updated:-} ]]; then
        "${apt[@]}" update >"$log" 2>&1 </dev/null || true
        packages_updated=yes
    fi
    if ! DEBIAN_FRONTEND=noninteractive "${apt[@]}" install --no-install-recommends \
        "${packages[@]}" >>"$log" 2>&1 </dev/null; then
        install_error="cannot install ${packages[*]}: $(grep -m1 '^E:' "$log" || tail -n 1 "$log")"
        install_error+=" (all in $log)"
        return 1
    fi
}

# Installs what is missing or ends the script.
need() { try_install "$@" || die "$install_error"; }
