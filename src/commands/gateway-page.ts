import type { Follower } from '../audit/sink.js'
import { openLivePage, type LivePage } from './live-page.js'
import { recordsFor } from './records-for.js'

/** It goes so far back, in milliseconds: a day. */
const windowMs = 86_400_000

/** The live page of what this gateway decides from now on: whatever its log, and without reading it. */
export const gatewayPage = (): LivePage & { readonly follower: Follower } => {
  const page = openLivePage(windowMs)
  return { ...page, follower: recordsFor(page.take) }
}
