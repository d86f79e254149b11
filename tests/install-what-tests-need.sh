#!/usr/bin/env bash
# Installs what the tests need beyond Python packages: Chromium, Docker Engine, nginx, and debootstrap,
# which makes a base for its images where no registry can be reached. Chromium's headless shell is preferred where it is
# packaged: it has no windows and no tabs, and needs a quarter less time for a page.
# As root on Debian or Ubuntu it installs what is missing; elsewhere it says what is missing, and the
# tests that need it are skipped by name. It never fails: whether skipping is allowed, the tests decide.
set -u

has_any() { for name in "$@"; do command -v "$name" >/dev/null 2>&1 && return 0; done; return 1; }

missing=()
has_any chromium-headless-shell || missing+=(chromium-headless-shell)
has_any dockerd || missing+=(docker.io)
has_any debootstrap || missing+=(debootstrap)
has_any nginx /usr/sbin/nginx || missing+=(nginx-light)
[ ${#missing[@]} -eq 0 ] && exit 0

like=""
[ -r /etc/os-release ] && like=$(. /etc/os-release && echo "${ID:-} ${ID_LIKE:-}")
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1 || [[ ! "$like" =~ debian|ubuntu ]]; then
    echo "Not installed: ${missing[*]}. The tests that need them are skipped, by name." >&2
    exit 0
fi

echo "Installing ${missing[*]} for the tests …" >&2
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
install() { apt-get install -q -y --no-install-recommends "$@" >>"$log" 2>&1 </dev/null; }
apt-get update -q >>"$log" 2>&1 </dev/null
for package in "${missing[@]}"; do
    install "$package" && continue
    if [ "$package" = chromium-headless-shell ]; then
        has_any chromium chromium-browser google-chrome google-chrome-stable && continue
        install chromium && continue
    fi
    tail -n 5 "$log" >&2
    echo "Could not install $package. The tests that need it are skipped, by name." >&2
done
rm -f "$log"
exit 0
