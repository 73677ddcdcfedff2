import assert from "node:assert/strict";
import type { NamespaceFacts } from "../../../lib/namespaces/facts.ts";
import { planOptIn, planOptOut, type Step } from "../../../lib/namespaces/plan.ts";

function facts(name: string, rest: Partial<NamespaceFacts> = {}): NamespaceFacts {
  const value = rest.value;
  return {
    name,
    uid: "uid",
    resourceVersion: "1",
    value,
    optedOut: value === "disabled",
    managers: [],
    since: undefined,
    ...rest,
  };
}

function request(name: string, known: NamespaceFacts | undefined, force = false) {
  return {
    names: [name],
    known: new Map(known ? [[name, known]] : []),
    candidates: ["payments", "shop"],
    force,
  };
}

function textOf(step: Step): string {
  switch (step.kind) {
    case "change":
      return ["change", ...step.remarks].join(": ");
    case "keep":
      return `keep: ${step.reason}`;
    case "refuse":
      return `refuse: ${step.message}`;
  }
}

interface Case {
  readonly what: string;
  readonly name?: string;
  readonly known?: NamespaceFacts;
  readonly force?: boolean;
  readonly says: RegExp;
}

const optOutCases: readonly Case[] = [
  { what: "without the label", known: facts("shop"), says: /^change$/ },
  {
    what: "out already",
    known: facts("shop", { value: "disabled", since: "2026-01-01T00:00:00Z", managers: ["helm"] }),
    says: /^keep: is out already since 2026-01-01T00:00:00Z, by "helm"$/,
  },
  {
    what: "out already, nobody knows since when",
    known: facts("shop", { value: "disabled" }),
    says: /^keep: is out already$/,
  },
  {
    what: "another value of our own",
    known: facts("shop", { value: "off", managers: ["kube-proxy-namespaces"] }),
    says: /^change: its label has the value "off" until now$/,
  },
  {
    what: "another value of another manager",
    known: facts("shop", { value: "off", managers: ["helm"] }),
    says:
      /^refuse: .* has the value "off" and belongs to the field manager "helm"; .*kubectl label/,
  },
  {
    what: "a slip",
    name: "shpo",
    says: /^refuse: Cannot opt out "shpo": there is no such namespace; did you mean "shop"\?$/,
  },
  {
    what: "nothing like it",
    name: "warehouse",
    says: /there is no such namespace; kubectl get namespaces lists what there is$/,
  },
  {
    what: "default",
    name: "default",
    known: facts("default"),
    says: /^refuse: .*"kubernetes".*; give --force if that is meant$/,
  },
  {
    what: "kube-system by force",
    name: "kube-system",
    known: facts("kube-system"),
    force: true,
    says: /^change: forced, although it usually holds the cluster's DNS$/,
  },
];

const optInCases: readonly Case[] = [
  {
    what: "out by ourselves",
    known: facts("shop", { value: "disabled", managers: ["kube-proxy-namespaces"] }),
    says: /^change$/,
  },
  {
    what: "out by somebody else",
    known: facts("shop", { value: "disabled", managers: ["argocd", "kube-proxy-namespaces"] }),
    says: /^change: its label was set by "argocd", which may set it again/,
  },
  { what: "not out", known: facts("shop"), says: /^keep: is not out$/ },
  {
    what: "a value without meaning",
    known: facts("shop", { value: "Disabled" }),
    says:
      /^keep: is not out: its label has the value "Disabled", and only "disabled" means anything$/,
  },
  {
    what: "default needs no force to come back",
    name: "default",
    known: facts("default", { value: "disabled" }),
    says: /^change$/,
  },
  { what: "unknown", name: "shpo", says: /^refuse: Cannot opt in "shpo"/ },
];

for (
  const [title, plan, cases] of [
    ["planOptOut()", planOptOut, optOutCases],
    ["planOptIn()", planOptIn, optInCases],
  ] as const
) {
  Deno.test(`${title} decides by what the namespace is`, async (test) => {
    for (const { what, name = "shop", known, force, says } of cases) {
      await test.step(what, () => {
        const [step] = plan(request(name, known, force));
        assert.match(textOf(step), says);
      });
    }
  });
}

Deno.test("planOptOut() is in the order of the names and takes each once", () => {
  const known = new Map(["a", "b"].map((name) => [name, facts(name)]));
  const steps = planOptOut({ names: ["b", "a", "b"], known, candidates: [], force: false });
  assert.deepEqual(steps.map((step) => step.kind === "change" && step.facts.name), ["a", "b"]);
});
