import { nearest, traitsOf } from './revisions/index.js'

/** Bounds that no genuine list exceeds. */
const maxPages = 1000
const longestCursor = 16_384

/**
 * What follows a page of a list. `end`: nothing. `repeats`: nothing that is new, because the cursor came
 * before. `endless`: more pages than are read.
 */
export type NextPage =
  | { readonly kind: 'page'; readonly cursor: string }
  /** @property isEmpty the server named an empty cursor, which older servers mean as the end */
  | { readonly kind: 'end'; readonly isEmpty?: true }
  | { readonly kind: 'repeats' }
  | { readonly kind: 'endless' }

/**
 * The one reader of `nextCursor`, for the relay, inspect and lock. An empty string is a cursor in 2026-07-28
 * (pagination), and the end before it.
 * @param seen the cursors by which this list was asked for so far
 */
export const nextPage = (nextCursor: unknown, revision: string, seen: ReadonlySet<string>): NextPage => {
  if (typeof nextCursor !== 'string') return { kind: 'end' }
  if (nextCursor === '' && !traitsOf(nearest(revision)).modern) return { kind: 'end', isEmpty: true }
  if (seen.has(nextCursor)) return { kind: 'repeats' }
  if (seen.size >= maxPages || nextCursor.length > longestCursor) return { kind: 'endless' }
  return { kind: 'page', cursor: nextCursor }
}
