import { check } from "../check.ts";

export const rehearse = check({
  id: "DRY01",
  group: "rehearsal",
  title: "rehearse",
  why: "w",
  looks: "l",
  links: [],
  results: ["pass", "fail"],
  needs: ["rehearsal"],
  judge: ({ facts: { rehearsal } }) =>
    rehearsal?.loaded ? [] : [{ level: "fail", subject: "", evidence: [], advice: [] }],
});
