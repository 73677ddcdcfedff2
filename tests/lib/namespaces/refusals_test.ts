import assert from "node:assert/strict";
import { ApiError, emptyStatus } from "../../../lib/kube/status.ts";
import type { NamespaceFacts } from "../../../lib/namespaces/facts.ts";
import { explainRead, explainWrite, MissingRights } from "../../../lib/namespaces/refusals.ts";

const facts: NamespaceFacts = {
  name: "shop",
  uid: "uid",
  resourceVersion: "1",
  value: "enabled",
  optedOut: false,
  managers: [],
  since: undefined,
};

function refusal(code: number, message = ""): ApiError {
  return new ApiError(`Cannot PATCH: ${message}`, { ...emptyStatus, code, message });
}

const cases = [
  {
    name: "another field manager",
    error: refusal(
      409,
      'Apply failed with 1 conflict: conflict with "helm" using v1: .metadata.labels.x',
    ),
    says: /value "enabled" and belongs to the field manager "helm"/,
  },
  {
    name: "changed meanwhile",
    error: refusal(409, "the object has been modified"),
    says: /^Cannot opt out "shop": it changed meanwhile; .* run this again$/,
  },
  { name: "gone", error: refusal(404), says: /^Cannot opt out "shop": it was deleted meanwhile$/ },
  {
    name: "forbidden",
    error: refusal(403, "forbidden"),
    says: /the role below grants what this command needs$/,
  },
  { name: "anything else", error: refusal(500, "on fire"), says: /on fire/ },
] as const;

Deno.test("explainWrite() says what a refusal means", async (test) => {
  for (const { name, error, says } of cases) {
    await test.step(name, () => {
      const explained = explainWrite(error, "opt-out", facts);
      assert.ok(explained instanceof Error);
      assert.match(explained.message, says);
    });
  }
});

Deno.test("explainRead() brings the role, and leaves other errors alone", () => {
  const explained = explainRead(refusal(403), "list");
  assert.ok(explained instanceof MissingRights);
  for (const other of [new Error("other"), refusal(404), refusal(500, "on fire")]) {
    assert.equal(explainRead(other, "list"), other);
  }
});

Deno.test("explainRead() asks for no more than the command needs", () => {
  const roleOf = (action: "list" | "opt-in") => {
    const explained = explainRead(refusal(403), action);
    return explained instanceof MissingRights ? explained.role : "";
  };
  assert.match(roleOf("list"), /resources: \[namespaces\]\n {4}verbs: \[list\]/);
  assert.match(roleOf("opt-in"), /resources: \[namespaces\]\n {4}verbs: \[get, list, patch\]/);
  assert.match(roleOf("opt-in"), /^ {2}name: kube-proxy:namespaces-opt-in$/m);
});
