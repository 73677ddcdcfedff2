import assert from "node:assert/strict";
import { Errno } from "../../../../lib/kernel/errno.ts";
import { NetlinkError } from "../../../../lib/kernel/netlink/errors.ts";
import {
  type BatchFailure,
  failureText,
  isNotFound,
  isNotPermitted,
  isUncertain,
  NfTablesError,
} from "../../../../lib/kernel/nf_tables/errors.ts";

const failure = (errno: number, operation = 3): BatchFailure => ({
  operation,
  errno,
  message: failureText(errno, {}),
});

function refused(...failures: BatchFailure[]): NfTablesError {
  return new NfTablesError(failures, ({ operation }) => `do operation ${operation}`);
}

const lacks = "; this kernel lacks nf_tables or its module is not loaded";

const rows: readonly (readonly [failures: readonly BatchFailure[], says: RegExp])[] = [
  [[failure(Errno.ENOENT)], /^Cannot do operation 3: no such object \(ENOENT\)$/],
  [[failure(Errno.ENOENT), failure(Errno.EBUSY)], /\(ENOENT\); 1 more operations failed$/],
  [[failure(Errno.EPERM)], /\(EPERM\); run as root or with CAP_NET_ADMIN$/],
  [[failure(Errno.EACCES)], /\(EACCES\); run as root or with CAP_NET_ADMIN$/],
  [[failure(Errno.EMSGSIZE)], /; raise net\.core\.wmem_max, or run as root of the machine$/],
  [[failure(Errno.EOPNOTSUPP, -1)], new RegExp(`${lacks}$`)],
  [[failure(Errno.EOPNOTSUPP, 0)], new RegExp(`${lacks}$`)],
  [[failure(Errno.EOPNOTSUPP, 1)], /\(EOPNOTSUPP\)$/],
  [[failure(Errno.EBUSY, 0)], /\(EBUSY\)$/],
];

for (const [failures, says] of rows) {
  Deno.test(`NfTablesError says ${says.source}`, () => {
    const error = refused(...failures);
    assert.match(error.message, says);
    assert.deepEqual(error.failures, failures);
  });
}

Deno.test("failureText() names the module of an expression that the kernel lacks, and of no other", () => {
  const rows: readonly [errno: number, expression: string, text: string][] = [
    [Errno.ENOENT, "numgen", 'expression "numgen" (kernel module nft_numgen): '],
    [
      Errno.ENOENT,
      "match recent",
      'expression "match recent" (kernel module nft_compat or xt_recent): ',
    ],
    [
      Errno.ENOENT,
      "target DNAT",
      'expression "target DNAT" (kernel module nft_compat or xt_nat): ',
    ],
    [Errno.ENOENT, "immediate", 'expression "immediate": '],
    [Errno.EINVAL, "numgen", 'expression "numgen": '],
  ];
  for (const [errno, expression, text] of rows) {
    assert.ok(failureText(errno, { expression }).startsWith(text), expression);
  }
});

Deno.test("failureText() joins what the kernel said with the expression it meant", () => {
  assert.equal(failureText(Errno.ENOENT, {}), "no such object (ENOENT)");
  assert.equal(
    failureText(Errno.ENOENT, { kernelMessage: "gone", expression: "lookup" }),
    'expression "lookup": gone: no such object (ENOENT)',
  );
});

const kinds: readonly (readonly [(error: unknown) => boolean, readonly number[]])[] = [
  [isNotFound, [Errno.ENOENT]],
  [isNotPermitted, [Errno.EPERM, Errno.EACCES]],
  [isUncertain, [Errno.ENOBUFS, Errno.ENOMEM, Errno.EINTR, Errno.EAGAIN]],
];

for (const [is, errnos] of kinds) {
  Deno.test(`${is.name}() knows its errors in a batch and on the socket`, () => {
    for (const errno of Object.values(Errno)) {
      const expected = errnos.includes(errno);
      assert.equal(is(new NetlinkError({ op: "x", errno })), expected, String(errno));
      assert.equal(is(refused(failure(Errno.EEXIST), failure(errno))), expected, String(errno));
    }
    assert.equal(is(new Error("x")), false);
    assert.equal(is(undefined), false);
  });
}
