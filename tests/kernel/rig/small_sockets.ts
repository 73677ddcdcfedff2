/**
 * Becomes another program, whose sockets keep the send buffer they are opened with:
 *
 *     deno run -A tests/kernel/rig/small_sockets.ts COMMAND ARGUMENT...
 *
 * So it is where `net.core.wmem_max` has its usual value and the program has no rights over the
 * machine (a node in a user namespace): a datagram of more than 212,960 bytes is refused. That setting
 * belongs to the whole machine, so a test must not change it; a seccomp filter concerns this process
 * and its children alone. It is a little stricter than the setting, which lets a buffer double once.
 */

const PR_SET_SECCOMP = 22;
const SECCOMP_MODE_FILTER = 2;
const SECCOMP_RET_ALLOW = 0x7fff0000;
const SECCOMP_RET_ERRNO = 0x00050000;
const EPERM = 1;
const SOL_SOCKET = 1;
const SO_SNDBUF = 7;
const SO_SNDBUFFORCE = 32;

/** Where `struct seccomp_data` keeps the number of the call and the low halves of its arguments. */
const CALL = 0;
const LEVEL = 16 + 8;
const OPTION = 16 + 16;

/** `setsockopt` by the processor. */
const setsockopt = Deno.build.arch === "aarch64" ? 208 : 54;

/** Classic BPF: load a word, jump when it is equal, return. */
const load = (offset: number): Instruction => [0x20, 0, 0, offset];
const unlessEqual = (value: number, skip: number): Instruction => [0x15, 0, skip, value];
const ifEqual = (value: number, skip: number): Instruction => [0x15, skip, 0, value];
const give = (action: number): Instruction => [0x06, 0, 0, action];

type Instruction = readonly [code: number, whenTrue: number, whenFalse: number, operand: number];

const filter: readonly Instruction[] = [
  load(CALL),
  unlessEqual(setsockopt, 5),
  load(LEVEL),
  unlessEqual(SOL_SOCKET, 3),
  load(OPTION),
  ifEqual(SO_SNDBUF, 2),
  ifEqual(SO_SNDBUFFORCE, 2),
  give(SECCOMP_RET_ALLOW),
  // Done, says the kernel, which also lets a buffer grow less than it is asked for.
  give(SECCOMP_RET_ERRNO),
  give(SECCOMP_RET_ERRNO | EPERM),
];

/** The command line that runs a program so. */
export function withSmallSockets(argv: readonly string[]): readonly string[] {
  const launcher = new URL(import.meta.url).pathname;
  return [Deno.execPath(), "run", "--quiet", "-A", "--no-check", launcher, ...argv];
}

if (import.meta.main) become(Deno.args);

/** Never returns; throws where the kernel refuses the filter or there is no such program. */
function become(argv: readonly string[]): never {
  const { symbols } = Deno.dlopen("libc.so.6", {
    prctl: { parameters: ["i32", "u64", "buffer"], result: "i32" },
    execvp: { parameters: ["buffer", "buffer"], result: "i32" },
  });
  const program = encode(filter);
  const header = new BigUint64Array([BigInt(filter.length), addressOf(program)]);
  if (symbols.prctl(PR_SET_SECCOMP, BigInt(SECCOMP_MODE_FILTER), bytesOf(header)) !== 0) {
    throw new Error("Cannot keep sockets small: the kernel refused the filter; run as root");
  }
  const words = argv.map((word) => new TextEncoder().encode(`${word}\0`));
  const pointers = new BigUint64Array([...words.map(addressOf), 0n]);
  symbols.execvp(words[0], bytesOf(pointers));
  throw new Error(`Cannot run "${argv[0]}": there is no such program`);
}

/** `struct sock_filter`: u16 code, u8 jt, u8 jf, u32 k. */
function encode(instructions: readonly Instruction[]): Uint8Array<ArrayBuffer> {
  const view = new DataView(new ArrayBuffer(instructions.length * 8));
  for (const [i, [code, whenTrue, whenFalse, operand]] of instructions.entries()) {
    view.setUint16(i * 8, code, true);
    view.setUint8(i * 8 + 2, whenTrue);
    view.setUint8(i * 8 + 3, whenFalse);
    view.setUint32(i * 8 + 4, operand, true);
  }
  return new Uint8Array(view.buffer);
}

function addressOf(bytes: Uint8Array<ArrayBuffer>): bigint {
  return Deno.UnsafePointer.value(Deno.UnsafePointer.of(bytes));
}

function bytesOf(numbers: BigUint64Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  return new Uint8Array(numbers.buffer);
}
