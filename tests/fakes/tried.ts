/** What became of a call. */
export type Tried<T> =
  | { readonly gives: T; readonly throws?: undefined }
  | { readonly gives?: undefined; readonly throws: unknown };

/** The result of the action, or what it threw. */
export function tried<T>(action: () => T): Tried<T> {
  try {
    return { gives: action() };
  } catch (error) {
    return { throws: error };
  }
}
