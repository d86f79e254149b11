#!/usr/bin/env bash
# Builds the images that the training programs run in: phasedock-jobs:light (NumPy), phasedock-jobs:torch and
# phasedock-jobs:tensorflow.
#
#   core/jobs/build-image.sh [light] [torch] [tensorflow]        all, if none is named
#
# Libraries are fetched on this machine by pip; the build itself needs no network. The base is
# python:3.11-slim where a registry has it; else Debian, made with debootstrap from this machine's own mirror.
#
#   BASE        another base image that has python3
#   TORCH       what pip is asked for (torch==2.13.0); see docs/docker/jobs.md where that finds no CPU build
#   TENSORFLOW  the same for TensorFlow (tensorflow-cpu==2.21.0)
#   PYTHON      the Python whose pip fetches, and whose scikit-learn holds the digits (python3)
#   CACHE       folder that keeps wheels between builds (a temporary one)
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
python=${PYTHON:-python3}
torch=${TORCH:-torch==2.13.0}
tensorflow=${TENSORFLOW:-tensorflow-cpu==2.21.0}
own_base=phasedock-base
export DOCKER_BUILDKIT=${DOCKER_BUILDKIT:-0}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cache=${CACHE:-$work/cache}
mkdir -p "$cache"

say() { echo "$*" >&2; }
fail() { say "$*"; exit 1; }

mirror() { # the first Debian mirror among this machine's package sources
    { grep -rhoE '^(URIs:|deb) .*' /etc/apt/sources.list /etc/apt/sources.list.d 2>/dev/null || true; } |
        grep -oE 'https?://[^ ]*debian/?( |$)' | head -n 1 | tr -d ' '
}

make_base() {
    [ "$(id -u)" -eq 0 ] && command -v debootstrap >/dev/null ||
        fail "No registry has python:3.11-slim, and making a base needs root and debootstrap. Set BASE to an image with python3."
    local from; from=$(mirror)
    [ -n "$from" ] || fail "No Debian mirror stands in this machine's package sources. Set BASE to an image with python3."
    say "Making $own_base with debootstrap …"
    debootstrap --variant=minbase --include=python3 bookworm "$work/root" "$from" >"$work/log" 2>&1 ||
        { tail -n 5 "$work/log" >&2; fail "debootstrap failed; its last lines stand above."; }
    rm -rf "$work"/root/var/cache/apt/* "$work"/root/var/lib/apt/lists/* "$work"/root/usr/share/{doc,man,locale}/*
    tar -C "$work/root" -c . | docker import --change 'CMD ["python3"]' - "$own_base" >/dev/null
    rm -rf "$work/root"
}

base() { # the name of an image that has python3
    local slim=python:3.11-slim
    if [ -n "${BASE:-}" ]; then echo "$BASE"; return; fi
    if docker image inspect "$slim" >/dev/null 2>&1 || timeout 120 docker pull -q "$slim" >/dev/null 2>&1; then
        echo "$slim"; return
    fi
    docker image inspect "$own_base" >/dev/null 2>&1 || make_base
    echo "$own_base"
}

lay() { # lay BASE FOLDER NAME [OPTION…]: one image more
    cp "$here/Dockerfile" "$work/Dockerfile"
    docker build --quiet --network none --build-arg BASE="$1" "${@:4}" -t "$3" -f "$work/Dockerfile" "$2" >/dev/null
}

fetch() { # fetch VERSION FOLDER REQUIREMENT…: packages for the base's Python, unpacked
    local version=$1 folder=$2 arch platforms=() tag; shift 2
    arch=$(uname -m)
    for tag in manylinux_2_28 manylinux_2_27 manylinux_2_17 manylinux2014 manylinux2010; do platforms+=(--platform "${tag}_$arch"); done
    local chosen=(--only-binary=:all: --python-version "$version" --implementation cp "${platforms[@]}")
    mkdir -p "$cache/wheels-$version"
    "$python" -m pip --disable-pip-version-check download -q "${chosen[@]}" -d "$cache/wheels-$version" \
        --find-links "$cache/wheels-$version" "$@" 2>"$work/log" ||
        { tail -n 5 "$work/log" >&2; fail "pip found no build of: $*"; }
    "$python" -m pip --disable-pip-version-check install -q "${chosen[@]}" --no-compile --target "$folder" \
        --no-index --find-links "$cache/wheels-$version" "$@" 2>"$work/log" ||
        { tail -n 5 "$work/log" >&2; fail "pip could not unpack: $*"; }
    rm -rf "$folder"/bin "$folder"/torch/{include,test} "$folder"/tensorflow/include "$folder"/clang "$folder"/{setuptools,pkg_resources,_distutils_hack}
}

libraries() { # libraries KIND: the image under the programs; kept while what it is made of stays the same
    local kind=$1 name="phasedock-jobs:$1-libraries" from version wanted label
    local requirements=("numpy>=2,<3" "threadpoolctl>=3.5")
    case "$kind" in
        torch) requirements+=("$torch") ;;
        tensorflow) requirements+=("$tensorflow") ;;
    esac
    from=$(base)
    version=$(docker run --rm --network none "$from" python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    wanted="$from python$version ${requirements[*]}"
    label=$(docker image inspect -f '{{index .Config.Labels "phasedock.libraries"}}' "$name" 2>/dev/null || true)
    if [ "$label" != "$wanted" ]; then
        say "Building $name on $from (Python $version) …"
        fetch "$version" "$work/$kind-libraries" "${requirements[@]}"
        lay "$from" "$work/$kind-libraries" "$name" --label "phasedock.libraries=$wanted"
        rm -rf "$work/$kind-libraries"
    fi
    echo "$name"
}

programs() { # the package as the images hold it, with the digits that scikit-learn ships
    local folder="$work/programs/phasedock_jobs" data
    [ -d "$folder" ] && return
    mkdir -p "$folder"
    cp "$here"/*.py "$folder/"
    (cd "$here" && find programs \( -name '*.py' -o -name '*.txt' \) -exec cp --parents {} "$folder/" \;)
    data=$("$python" -c 'import pathlib, sklearn; print(pathlib.Path(sklearn.__file__).parent / "datasets/data")') ||
        fail "scikit-learn, whose digits the programs learn, is not installed for $python."
    cp "$data/digits.csv.gz" "$folder/programs/"
}

for kind in "${@:-light torch tensorflow}"; do
    for one in $kind; do
        case "$one" in
            light) first=mlp ;;
            torch) first=gru ;;
            tensorflow) first=tf-gru ;;
            *) fail "There are the images light, torch and tensorflow; “$one” is none of them." ;;
        esac
        programs
        under=$(libraries "$one")
        lay "$under" "$work/programs" "phasedock-jobs:$one" --build-arg FIRST="$first"
        say "phasedock-jobs:$one is ready."
    done
done
