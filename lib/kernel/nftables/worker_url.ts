/** Where the worker's module is: the one place that knows how the program is bundled. */

const WORKER = "lib/kernel/nftables/worker";

/**
 * The worker's address, seen from the module with this address. Run from source, it lies beside this
 * file. The bundler keeps its path below the bundle's root, and puts the code that asks into `main.js`
 * at the root or into a chunk in `modules/`.
 */
export function workerUrl(moduleUrl: string): URL {
  if (new URL(moduleUrl).pathname.endsWith(".ts")) return new URL("./worker.ts", moduleUrl);
  const root = new URL(/\/modules\/[^/]*$/.test(moduleUrl) ? "../" : "./", moduleUrl);
  return new URL(`${WORKER}.js`, root);
}
