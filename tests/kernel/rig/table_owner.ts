/** Another program that owns a table of a namespace: nobody else may change it while it lives. */

/** Ends the owner, and with it its table. */
export interface TableOwner extends AsyncDisposable {
  /** The netlink port of its socket. */
  readonly port: number;
}

/** Makes the table `ip NAME` with the flag `owner`, in a process that waits. */
export async function ownTable(namespace: string, table: string): Promise<TableOwner> {
  const child = new Deno.Command("ip", {
    args: ["netns", "exec", namespace, "nft", "-i"],
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const writer = child.stdin.getWriter();
  const script = `add table ip ${table} { flags owner ; }\nlist tables\n`;
  await writer.write(new TextEncoder().encode(script));
  await untilPrinted(child.stdout, `table ip ${table}`);
  return {
    port: child.pid,
    async [Symbol.asyncDispose]() {
      await writer.close();
      await child.status;
    },
  };
}

/** Reads on behind that, so that the process never waits for a reader. */
async function untilPrinted(
  output: ReadableStream<Uint8Array<ArrayBuffer>>,
  text: string,
): Promise<void> {
  const printed = Promise.withResolvers<void>();
  let all = "";
  const read = output.pipeThrough(new TextDecoderStream()).pipeTo(
    new WritableStream({
      write(chunk) {
        all += chunk;
        if (all.includes(text)) printed.resolve();
      },
    }),
  );
  read.then(() => printed.reject(new Error(`Cannot own a table: nft said only: ${all}`)));
  await printed.promise;
}
