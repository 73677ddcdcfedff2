/**
 * The kernel frees a rule, and lets go of the set or counter that it holds, a moment after the commit
 * that removed it. Whoever removes those too waits so long before each other attempt.
 */
export const waitsForRulesMs = [10, 40, 150, 800] as const;
