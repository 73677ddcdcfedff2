/** Refusals of iptables' rules: which change, where, in the words of the kernel or its tool. */
import { assertNever } from "../../base/assert_never.ts";
import type { IpFamily } from "../../base/ip_family.ts";
import { toolOf, type XtChange } from "./rules.ts";
import { ruleText } from "./text.ts";
import type { XtFailure, XtRefusal } from "./xtables.ts";

/** What was refused, and of what. */
export interface XtablesErrorOptions {
  readonly family: IpFamily;
  readonly changes: readonly XtChange[];
  /** Every change that was refused, in order; not empty. */
  readonly failures: readonly XtFailure[];
  readonly cause?: unknown;
}

/** Changes that were refused: nothing of them was applied, or whole tables before the first failure. */
export class XtablesError extends Error {
  override readonly name = "XtablesError";
  readonly failures: readonly XtFailure[];

  constructor({ cause, changes, failures, family }: XtablesErrorOptions) {
    const [first] = failures;
    const change = changes[first.change];
    const what = change ? describeChange(change, family) : `change rules of ${toolOf(family)}`;
    const others = failures.length - 1;
    const more = others === 0
      ? ""
      : `; ${others} more ${others === 1 ? "change" : "changes"} failed`;
    super(`Cannot ${what}: ${first.message}${hintFor(first.refusal)}${more}`, { cause });
    this.failures = failures;
  }
}

/** Whether the error holds a refusal of this kind. */
export function isRefusal(error: unknown, refusal: XtRefusal): error is XtablesError {
  return error instanceof XtablesError && error.failures.some((each) => each.refusal === refusal);
}

/** Completes "Cannot …": `add rule "-j ACCEPT" to chain "INPUT" of ip6tables table "filter"`. */
export function describeChange(change: XtChange, family: IpFamily): string {
  const table = `${toolOf(family)} table "${change.table}"`;
  switch (change.kind) {
    case "add-table":
      return `add ${table}`;
    case "add-chain":
      return `add chain "${change.chain}" to ${table}`;
    case "flush-chain":
      return `flush chain "${change.chain}" of ${table}`;
    case "delete-chain":
      return `delete chain "${change.chain}" of ${table}`;
    case "append-rule":
    case "insert-rule":
      return `add rule "${ruleText(change.rule, family)}" to chain "${change.chain}" of ${table}`;
    case "delete-rule":
      return `delete rule "${
        ruleText(change.rule, family)
      }" of chain "${change.chain}" of ${table}`;
    default:
      return assertNever(change);
  }
}

function hintFor(refusal: XtRefusal): string {
  switch (refusal) {
    case "not-permitted":
      return "; run as root or with CAP_NET_ADMIN";
    case "locked":
      return "; another program is changing iptables' rules, it is tried again";
    case "unsupported":
      return "; load or build the kernel's module for it";
    case "not-found":
    case "exists":
    case "busy":
    case "stale":
    case "other":
      return "";
    default:
      return assertNever(refusal);
  }
}
