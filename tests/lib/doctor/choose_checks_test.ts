import assert from "node:assert/strict";
import { UsageError } from "../../../lib/base/errors.ts";
import { chooseChecks } from "../../../lib/doctor/choose_checks.ts";
import { checkOf } from "./facts_in_memory.ts";

const all = ["KRN01", "KRN02", "CO01"].map((id) => checkOf({ id }));

const choices: readonly {
  readonly only?: readonly string[];
  readonly skip?: readonly string[];
  readonly chosen: readonly string[];
}[] = [
  { chosen: ["KRN01", "KRN02", "CO01"] },
  { only: ["CO01", "KRN01"], chosen: ["KRN01", "CO01"] },
  { skip: ["KRN02"], chosen: ["KRN01", "CO01"] },
  { only: ["KRN01", "KRN02"], skip: ["KRN01"], chosen: ["KRN02"] },
];

for (const { chosen, only = [], skip = [] } of choices) {
  Deno.test(`--only "${only}" --skip "${skip}" leaves ${chosen}`, () => {
    assert.deepEqual(chooseChecks(all, { only, skip }).map(({ id }) => id), chosen);
  });
}

const refusals: readonly {
  readonly only?: readonly string[];
  readonly skip?: readonly string[];
  readonly says: string;
}[] = [
  {
    only: ["KRN1"],
    says: 'Cannot use --only "KRN1": there is no such check; did you mean "KRN01"?',
  },
  {
    skip: ["krn02"],
    says: 'Cannot use --skip "krn02": there is no such check; did you mean "KRN02"?',
  },
  {
    skip: ["nothing-like-it"],
    says:
      'Cannot use --skip "nothing-like-it": there is no such check; "doctor -o json" lists them all',
  },
  {
    only: ["CO01"],
    skip: ["CO01"],
    says: "Cannot check anything: --only and --skip leave no check; give fewer of them",
  },
];

for (const { only = [], says, skip = [] } of refusals) {
  Deno.test(`--only "${only}" --skip "${skip}" is refused`, () => {
    assert.throws(() => chooseChecks(all, { only, skip }), new UsageError(says));
  });
}
