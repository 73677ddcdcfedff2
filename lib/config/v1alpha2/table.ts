import { tableOf } from "../tables.ts";
import { v1alpha2Fields } from "./fields.ts";

/** The rows of v1alpha2. */
export const v1alpha2Table = tableOf(v1alpha2Fields);
