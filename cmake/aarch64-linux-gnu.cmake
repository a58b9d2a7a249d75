# Cross-builds for 64-bit ARM with Debian's g++-aarch64-linux-gnu; tests run under qemu-aarch64,
# whose `-cpu max` has NEON, dot products and i8mm. Needs the packages g++-aarch64-linux-gnu,
# qemu-user and googletest (sources). Use: cmake --preset aarch64.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR
    qemu-aarch64
    -cpu
    max
    -L
    /usr/aarch64-linux-gnu
)
