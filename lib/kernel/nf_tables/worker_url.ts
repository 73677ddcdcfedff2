/** Where the worker's module is: beside this one, in the sources as in the built program. */

/** The worker's address, seen from a module of this folder with the given address. */
export function workerUrl(moduleUrl: string): URL {
  return new URL(moduleUrl.endsWith(".ts") ? "./worker.ts" : "./worker.js", moduleUrl);
}
