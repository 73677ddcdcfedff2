/**
 * Memory of native code: bodies of requests, messages to the kernel. The C library keeps what is
 * freed for later use, and a start uses many times what everyday work does.
 */
import { libc } from "./libc.ts";

const M_TRIM_THRESHOLD = -1;
const M_MMAP_THRESHOLD = -3;
const M_ARENA_MAX = -8;

/** A block of this size is memory of its own, which goes back to the system when it is freed. */
const largeBlockBytes = 128 * 1024;
const arenas = 2;

/**
 * To be called before there is much in memory. By default the C library counts ever larger blocks
 * as small ones, up to 32 MiB, and gives each thread an arena that the others cannot use.
 */
export function keepLittleFreeMemory(): void {
  libc.mallopt(M_MMAP_THRESHOLD, largeBlockBytes);
  libc.mallopt(M_TRIM_THRESHOLD, largeBlockBytes);
  libc.mallopt(M_ARENA_MAX, arenas);
}

/** Gives back what small blocks have left free; takes about a millisecond. */
export function returnFreeMemory(): void {
  libc.malloc_trim(0n);
}
