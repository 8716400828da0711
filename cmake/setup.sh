# shellcheck shell=bash disable=SC2154 # root, deps, build, preset: set by ./hotloop, which sources this file
# Set-up for ./hotloop: system packages, pinned wheels in the dependency cache, configure and build.

python=
torch_root=

say() { printf 'hotloop: %s\n' "$*" >&2; }

fail() {
  say "$*"
  exit 2
}

# --- system packages -------------------------------------------------------------------------------------------------

# Fails unless version $1 is at least $2.
at_least() { [[ $(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1) == "$2" ]]; }

find_python() {
  local candidate
  for candidate in python3 /usr/bin/python3; do
    if "$candidate" -c 'import ensurepip, pip, sys, venv; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
      python=$(type -P "$candidate")
      return
    fi
  done
  return 1
}

# The Debian packages that this machine lacks, one a line; tools found on PATH count as present.
missing_packages() {
  local wanted=(libcli11-dev libtomlplusplus-dev libfmt-dev libspdlog-dev nlohmann-json3-dev libhdf5-dev zlib1g-dev libprotobuf-dev
    protobuf-compiler libgtest-dev libbenchmark-dev pkg-config libepoxy-dev libglm-dev libegl-dev libx11-dev libxrandr-dev
    libxinerama-dev libxcursor-dev libxi-dev libxext-dev libpng-dev)
  type -P g++ make >/dev/null || wanted+=(build-essential)
  type -P cmake >/dev/null || wanted+=(cmake)
  type -P ninja >/dev/null || wanted+=(ninja-build)
  type -P git >/dev/null || wanted+=(git)
  type -P ccache >/dev/null || wanted+=(ccache)
  find_python || wanted+=(python3 python3-pip python3-venv)
  if [[ $with_tests == 1 ]]; then
    type -P clang-format-14 >/dev/null || wanted+=(clang-format-14)
    type -P shellcheck >/dev/null || wanted+=(shellcheck)
    wanted+=(xvfb x11-xkb-utils libgl1-mesa-dri libegl1) # the viewer's tests draw in software
  fi
  # Ubuntu 22.04: its g++ 11 is too old for the C++20 used here
  if grep -qs '^VERSION_ID="22.04"' /etc/os-release; then wanted+=(g++-12); fi
  local installed
  installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "${wanted[@]}" 2>/dev/null | sed -n 's/ installed$//p') || true
  comm -23 <(printf '%s\n' "${wanted[@]}" | sort -u) <(sort -u <<<"$installed")
}

set_up_system() {
  [[ $(uname -sm) == "Linux x86_64" ]] || fail "this machine is $(uname -sm); Linux x86_64 is supported"
  if ! type -P dpkg-query apt-get >/dev/null; then
    say "not a Debian or Ubuntu system: README.md lists the libraries that must be there"
    find_python || fail "python3 >= 3.10 with pip and venv not found"
    return
  fi
  local packages as_root=()
  mapfile -t packages < <(missing_packages)
  if ((${#packages[@]})); then
    if ((EUID != 0)); then
      as_root=(sudo)
      sudo -n true 2>/dev/null || fail "system packages are missing; run: sudo apt-get update && sudo apt-get install -y ${packages[*]}"
    fi
    say "installing system packages: ${packages[*]}"
    local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=120)
    local log
    log=$({ "${apt[@]}" update && "${apt[@]}" install -y --no-install-recommends "${packages[@]}"; } 2>&1 </dev/null) ||
      fail "apt-get cannot install ${packages[*]}: $(grep -m 1 '^E:' <<<"$log" || tail -n 1 <<<"$log")"
  fi
  find_python || fail "python3 >= 3.10 with pip and venv not found although the packages are installed: check PATH"
}

# --- the dependency cache --------------------------------------------------------------------------------------------

lock_cache() {
  if ! mkdir -p "$deps" 2>/dev/null || [[ ! -w $deps ]]; then
    fail "cannot write the dependency cache $deps: set HOTLOOP_DEPS to a folder that can be written"
  fi
  exec 8>"$deps/.lock"
  if ! flock -n 8; then
    say "waiting for another set-up in $deps"
    flock 8
  fi
}

explain_write() { fail "cannot write $1: the disk may be full or the folder not yours"; }

# One line for what pip printed ($2) while fetching $1.
explain_pip() {
  case $2 in
    *"DO NOT MATCH THE HASHES"*) fail "$1: a downloaded file does not have the SHA-256 pinned in $3; nothing was installed" ;;
    *"No space left"* | *"Errno 28"*) fail "$1: no space left in $deps; free some, or set HOTLOOP_DEPS to a folder on another disk" ;;
    *"No matching distribution"* | *onnection* | *"name resolution"* | *"Max retries"* | *imed\ out* | *"No such file or directory"*)
      fail "$1: cannot be fetched from the Python package index: it is needed once (check the network and pip's configuration)" ;;
  esac
  fail "$1: pip failed: $(grep -m 1 '^ERROR' <<<"$2" || tail -n 1 <<<"$2")"
}

# fetch FOLDER LOCK ABI WHEEL...: unpacks pinned wheels into a folder of the cache. A marker per wheel is written last, so
# an interrupted fetch is taken up again; files arrive by hard link from a finished unpacking, so that none is half there.
fetch() {
  local folder=$1 lock=$root/cmake/deps/$2 abi=$3 name line wanted=() markers=()
  for name in "${@:4}"; do
    line=$(grep -m 1 "^$name==" "$lock")
    line=${line%% #*}
    if [[ ! -e $folder/.fetched/${line%% *} ]]; then
      wanted+=("$line")
      markers+=("$folder/.fetched/${line%% *}")
    fi
  done
  if ((!${#wanted[@]})); then return; fi
  local names="${markers[*]##*/}" part=$deps/.part platforms=() minor
  say "fetching $names into $deps"
  rm -rf "$part"
  { mkdir -p "$part/tmp" && printf '%s\n' "${wanted[@]}" >"$part/wanted.txt"; } 2>/dev/null || explain_write "$part"
  for minor in {28..17}; do platforms+=(--platform "manylinux_2_${minor}_x86_64"); done
  local progress=(-q) errors
  if [[ -t 2 ]]; then progress=(); fi
  # pip's progress goes to our stderr, its errors into the variable
  if ! { errors=$(TMPDIR=$part/tmp "$python" -m pip install "${progress[@]}" --no-cache-dir --no-compile --no-deps --no-input \
    --disable-pip-version-check --require-hashes --only-binary :all: --implementation cp --python-version "3.${abi#cp3}" --abi "$abi" \
    "${platforms[@]}" --platform manylinux2014_x86_64 --target "$part/new" -r "$part/wanted.txt" 2>&1 >&3 8>&-); } 3>&2; then
    rm -rf "$part"
    explain_pip "$names" "$errors" "cmake/deps/$2"
  fi
  { mkdir -p "$folder/.fetched" && cp -rlf "$part/new/." "$folder/" && touch "${markers[@]}"; } 2>/dev/null || explain_write "$folder"
  rm -rf "$part"
}

# The sources of the viewer's window and widgets: pip hands out a source package only through its build backend, which
# is fetched beside it and builds nothing.
fetch_imgui() {
  local folder=$deps/imgui-bundle-1.93.0 lock=$root/cmake/deps/imgui.txt part=$deps/.part errors
  if [[ -e $folder/.fetched ]]; then return; fi
  say "fetching imgui-bundle 1.93.0 (sources) into $deps"
  rm -rf "$part"
  { mkdir -p "$part/tmp" "$part/new" && grep '^imgui-bundle==' "$lock" >"$part/sources.txt" &&
    grep -v -e '^imgui-bundle==' -e '^#' "$lock" >"$part/backend.txt"; } 2>/dev/null || explain_write "$part"
  local options=(-q --no-cache-dir --no-deps --no-input --disable-pip-version-check --require-hashes)
  if ! errors=$({ TMPDIR=$part/tmp "$python" -m pip install "${options[@]}" --only-binary :all: --target "$part/backend" -r "$part/backend.txt" &&
    TMPDIR=$part/tmp PYTHONPATH=$part/backend "$python" -m pip download "${options[@]}" --no-build-isolation --no-binary :all: \
      -d "$part/sources" -r "$part/sources.txt"; } 2>&1 8>&-); then
    rm -rf "$part"
    explain_pip "imgui-bundle 1.93.0" "$errors" "cmake/deps/imgui.txt"
  fi
  { tar -xzf "$part"/sources/*.tar.gz -C "$part/new" --strip-components=1 --no-same-owner --wildcards '*/external/imgui/imgui/*' \
    '*/external/implot/implot/*' '*/external/glfw/glfw/*' '*/external/imgui_test_engine/imgui_test_engine/*' &&
    rm -rf "$folder" && touch "$part/new/.fetched" && mv "$part/new" "$folder"; } 2>/dev/null || explain_write "$folder"
  rm -rf "$part"
}

# --- LibTorch, CUDA, MuJoCo ------------------------------------------------------------------------------------------

# Sonames that the libraries $2... of torch folder $1 need and that are found nowhere.
missing_sonames() {
  local names=("${@:2}")
  ldd "${names[@]/#/$1/lib/}" 2>/dev/null | awk '/=> not found/ { print $1 }' | sort -u
}

# Prints the folder of a torch 2.11.0 that python3 can import and that is complete for libraries $@.
importable_torch() {
  local found
  found=$(python3 -c 'import importlib.util as u; s = u.find_spec("torch"); print(s.submodule_search_locations[0] if s else "")' 2>/dev/null) || return 1
  [[ -n $found ]] && grep -qs "^__version__ = .2\.11\.0" "$found/version.py" || return 1
  local library
  for library in "$@"; do [[ -e $found/lib/$library ]] || return 1; done
  [[ -z $(missing_sonames "$found" "$@") ]] && echo "$found"
}

# Makes the toolkit's libraries visible where libtorch looks first, so that programs and Python need no LD_LIBRARY_PATH.
link_toolkit() {
  local libraries=$1/nvidia/cu13/lib
  mkdir -p "$libraries"
  find "$libraries" -xtype l -delete
  cp -sn "$2"/lib64/*.so.* "$libraries/" 2>/dev/null || true
}

# The wheels as a toolkit: nvcc and CMake look for lib64 and for names without a version.
complete_wheel_toolkit() {
  local library
  ln -sfn lib "$1/lib64"
  for library in "$1"/lib/*.so.*; do
    [[ -e ${library%%.so.*}.so ]] || ln -s "${library##*/}" "${library%%.so.*}.so"
  done
}

set_up_torch() {
  local needed=(libtorch_cpu.so) abi found packages soname
  if [[ -n $toolkit || $wheel_toolkit == 1 ]]; then needed+=(libtorch_cuda.so libtorch_cuda_linalg.so); fi
  # the oracles load torch's Python half, which wants every library
  if [[ $with_tests == 1 && -z ${HOTLOOP_TEST_PYTHON+set} ]]; then needed+=(libtorch_python.so); fi
  if torch_root=$(importable_torch "${needed[@]}"); then return; fi
  abi=$("$python" -c 'import sys; print("cp3%d" % min(sys.version_info[1], 14))')
  local folder=$deps/torch-2.11.0-$abi
  torch_root=$folder/torch
  fetch "$folder" torch.txt "$abi" torch
  if [[ $wheel_toolkit == 1 ]]; then
    mapfile -t packages < <(sed -n 's/^\([^=]*\)==.*# .*toolkit.*/\1/p' "$root/cmake/deps/cuda.txt")
    fetch "$folder" cuda.txt "$abi" "${packages[@]}"
    toolkit=$folder/nvidia/cu13
    complete_wheel_toolkit "$toolkit"
  elif [[ -n $toolkit ]]; then
    link_toolkit "$folder" "$toolkit"
  fi
  # what is fetched may need more, which ldd shows only then
  local before=
  while mapfile -t found < <(missing_sonames "$torch_root" "${needed[@]}") && ((${#found[@]})); do
    [[ ${found[*]} != "$before" ]] || fail "LibTorch in $folder does not find ${found[*]}; remove that folder and start again"
    before=${found[*]}
    packages=()
    for soname in "${found[@]}"; do
      packages+=("$(sed -n "s/^\([^=]*\)==.*# .*\b${soname//./\\.}\b.*/\1/p" "$root/cmake/deps/cuda.txt")")
      [[ -n ${packages[-1]} ]] || fail "LibTorch needs $soname, which this machine does not have"
    done
    mapfile -t packages < <(printf '%s\n' "${packages[@]}" | sort -u)
    fetch "$folder" cuda.txt "$abi" "${packages[@]}"
  done
}

# Sets toolkit (folder of a CUDA toolkit >= 13, or empty) and wheel_toolkit (1: a GPU is there, but no nvcc).
find_toolkit() {
  toolkit='' wheel_toolkit=0
  if [[ ${HOTLOOP_CUDA-} == [Oo][Ff][Ff] ]]; then return; fi
  local nvcc
  nvcc=$(find_nvcc)
  if [[ -n $nvcc ]] && at_least "$("$nvcc" --version | sed -n 's/.*release \([0-9.]*\),.*/\1/p')" 13; then
    toolkit=$(readlink -f "$nvcc")
    toolkit=${toolkit%/bin/nvcc}
  elif nvidia-smi -L >/dev/null 2>&1; then
    wheel_toolkit=1
  fi
}

set_up_libraries() {
  local version
  find_toolkit
  lock_cache
  cmake=cmake
  version=$(cmake --version 2>/dev/null | sed -n 's/^cmake version //p')
  if ! at_least "${version:-0}" 3.25; then
    fetch "$deps/cmake-3.31.10" cmake.txt cp310 cmake
    cmake=$deps/cmake-3.31.10/cmake/data/bin/cmake
  fi
  set_up_torch
  fetch "$deps/mujoco-4.0.0" mujoco.txt cp311 mujoco-core
  fetch_imgui
  exec 8>&-
}

# --- configure and build ---------------------------------------------------------------------------------------------

build_target() {
  local options=("-DHOTLOOP_TORCH_ROOT=$torch_root" "-DHOTLOOP_MUJOCO_ROOT=$deps/mujoco-4.0.0/mujoco"
    "-DHOTLOOP_IMGUI_ROOT=$deps/imgui-bundle-1.93.0")
  if [[ -n $toolkit ]]; then
    options+=("-DCMAKE_CUDA_COMPILER=$toolkit/bin/nvcc" "-DCUDAToolkit_ROOT=$toolkit")
    if [[ -n ${HOTLOOP_CUDA_ARCHITECTURES-} ]]; then options+=("-DCMAKE_CUDA_ARCHITECTURES=$HOTLOOP_CUDA_ARCHITECTURES"); fi
  else
    options+=(-DHOTLOOP_CUDA=OFF)
  fi
  if [[ -z ${CXX-} ]] && ! at_least "$(g++ -dumpversion)" 12 && type -P g++-12 >/dev/null; then
    options+=(-DCMAKE_CXX_COMPILER=g++-12 -DCMAKE_CUDA_HOST_COMPILER=g++-12)
  fi
  local configured=$build/.configured
  if [[ ! -f $build/build.ninja || ! -f $configured || $(<"$configured") != "${options[*]}" ]]; then
    say "configuring $build"
    rm -f "$configured"
    (cd "$root" && "$cmake" --preset "$preset" "${options[@]}" 7>&-) || fail "configuring failed; the lines above say why"
    echo "${options[*]}" >"$configured"
  fi
  # a file that includes LibTorch takes up to 2 GB to compile
  local jobs memory
  memory=$(awk '/^MemAvailable/ { print int($2 / 2e6) }' /proc/meminfo)
  jobs=$((memory < 1 ? 1 : memory < $(nproc) ? memory : $(nproc)))
  "$cmake" --build "$build" --target "$1" --parallel "$jobs" 7>&- || fail "the build failed; the lines above say why"
}

# --- the tests' Python oracles ---------------------------------------------------------------------------------------

# Sets oracles to the Python of a virtual environment that holds tests/python/{requirements,sdists}.txt and sees torch; or
# to nothing, with a line that says what is skipped.
set_up_oracles() {
  local lock=$root/tests/python/requirements.txt sdists=$root/tests/python/sdists.txt sum venv errors
  local install=(-m pip install -q --no-cache-dir --no-deps --no-input --disable-pip-version-check --require-hashes)
  sum=$("$python" -c 'import hashlib, sys; print("cp3%d-" % sys.version_info[1] + hashlib.sha256(b"".join(open(p, "rb").read() for p in sys.argv[1:3]) + sys.argv[3].encode()).hexdigest()[:12])' \
    "$lock" "$sdists" "$torch_root")
  venv=$deps/oracles-$sum
  oracles=$venv/bin/python
  lock_cache
  if [[ ! -e $venv/.complete ]]; then
    say "preparing the tests' Python packages in $venv"
    rm -rf "$venv"
    if ! errors=$("$python" -m venv "$venv" 2>&1 && "$oracles" "${install[@]}" --only-binary :all: -r "$lock" 2>&1 8>&- &&
      "$oracles" "${install[@]}" --no-build-isolation -r "$sdists" 2>&1 8>&- &&
      echo "${torch_root%/torch}" >"$("$oracles" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/hotloop-torch.pth" &&
      "$oracles" -c 'import torch, tensordict, gymnasium.envs.mujoco, minari, torchrl, robomimic.utils.dataset, onnx, onnxruntime' 2>&1 && touch "$venv/.complete"); then
      rm -rf "$venv"
      oracles=
      if [[ ${CI-} == true ]]; then explain_pip "tests/python/requirements.txt" "$errors" "it"; fi
      say "tests that compare with Python packages are skipped: they could not be installed ($(tail -n 1 <<<"$errors"))"
    fi
  fi
  exec 8>&-
}
