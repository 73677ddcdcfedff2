/**
 * Memory that is kept for later use. A start uses many times what everyday work does: of native memory
 * (bodies of requests, messages to the kernel), which the C library keeps, and of the engine's heap.
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

/**
 * Collects all garbage and shrinks the heap, in a runtime with `--v8-flags=--expose-gc`. A usual
 * collection keeps the pages it emptied: only the last resort gives them back to the system.
 */
export function collectGarbage(): void {
  const { gc } = globalThis as { gc?: (options: Readonly<Record<string, string>>) => void };
  gc?.({ type: "major", execution: "sync", flavor: "last-resort" });
}
