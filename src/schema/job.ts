import type { SchemaProblem } from '../core/check.js'

/** What the worker thread is told. What an order is about comes before it as JSON text, in as many pieces as it takes. */
export type Order =
  | { readonly type: 'piece'; readonly text: string }
  /** Inspect the schema that came. */
  | { readonly type: 'inspect'; readonly id: number; readonly subschemas: number }
  /** Judge the value that came. */
  | {
      readonly type: 'judge'
      readonly id: number
      /** The schema's JSON text. */
      readonly schema: string
      readonly subschemas: number
      /** Longest evaluation, in milliseconds. */
      readonly ms: number
    }

/** What it tells: that the evaluation begins (the clock runs from here), and what came of it. */
export type Report =
  | { readonly type: 'begun'; readonly id: number }
  | { readonly type: 'done'; readonly id: number; readonly problems: readonly SchemaProblem[] }
