/** What the apiserver's refusals mean here, and the rights that these commands need. */
import { ApiError } from "../kube/status.ts";
import type { NamespaceFacts } from "./facts.ts";
import { optOutLabel } from "./label.ts";
import { type Action, ownedByAnother } from "./plan.ts";

/** A request failed for want of rights; the message is a sentence, `role` a manifest that grants them. */
export class MissingRights extends Error {
  override readonly name = "MissingRights";
  readonly role: string;

  constructor(message: string, options: { readonly role: string; readonly cause: unknown }) {
    super(message, { cause: options.cause });
    this.role = options.role;
  }
}

/** The error to tell instead: forbidden becomes MissingRights, everything else stays itself. */
export function explainRead(error: unknown, action: Action | "list"): unknown {
  if (!(error instanceof ApiError) || !error.isForbidden) return error;
  const message = `${error.message}; the role below grants what this command needs`;
  return new MissingRights(message, { role: roleFor(action), cause: error });
}

/** The same for a write to this namespace, where somebody else may have been faster. */
export function explainWrite(error: unknown, action: Action, facts: NamespaceFacts): unknown {
  if (!(error instanceof ApiError)) return error;
  const { name } = facts;
  const verb = action === "opt-out" ? "opt out" : "opt in";
  if (error.isNotFound) {
    return new Error(`Cannot ${verb} "${name}": it was deleted meanwhile`, { cause: error });
  }
  if (error.status.code !== 409) return explainRead(error, action);
  const owner = /conflict with "([^"]*)"/.exec(error.status.message)?.[1];
  if (owner !== undefined) {
    return new Error(ownedByAnother({ ...facts, value: facts.value ?? "" }, owner), {
      cause: error,
    });
  }
  return new Error(
    `Cannot ${verb} "${name}": it changed meanwhile; look at its label ${optOutLabel} and run this again`,
    { cause: error },
  );
}

/** A ClusterRole with exactly the rights of a command, to be bound to whoever runs it. */
function roleFor(action: Action | "list"): string {
  const verbs = action === "list" ? "list" : "get, list, patch";
  return `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: kube-proxy:namespaces-${action}
rules:
  - apiGroups: [""]
    resources: [namespaces]
    verbs: [${verbs}]
  - apiGroups: [""]
    resources: [services]
    verbs: [list]
  - apiGroups: [discovery.k8s.io]
    resources: [endpointslices]
    verbs: [list]
`;
}
