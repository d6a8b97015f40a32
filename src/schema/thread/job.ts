import type { SchemaProblem } from '../../core/check.js'
import type { SchemaText } from '../plans.js'

/** What the worker thread is told. A value comes before its order, as JSON text or its bytes, in as many pieces as it takes. */
export type Order =
  | { readonly type: 'piece'; readonly id: number; readonly text: string | Uint8Array }
  | {
      /** Read the schema; and validate the value by it. */
      readonly type: 'read' | 'validate'
      readonly id: number
      readonly schema: SchemaText
      readonly subschemas: number
      /** What each of the two may take, in milliseconds' worth of steps. */
      readonly ms: number
    }

/** What came of an order. */
export interface Answer {
  readonly problems: readonly SchemaProblem[]
  /** Whether there is no verdict because matching a pattern took too long, or the thread ended. */
  readonly overran?: boolean
}

/** What the worker thread tells. */
export interface Report extends Answer {
  readonly id: number
}
