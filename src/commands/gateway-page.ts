import type { Follower } from '../audit/follower.js'
import type { Log } from '../audit/log.js'
import { openLivePage, type LivePage } from './live-page.js'
import { recordsFor } from './records-for.js'

/** It goes so far back, in milliseconds: a day. */
const windowMs = 86_400_000

/** The live page of what this gateway decides from now on: whatever its log, and without reading it. */
export const gatewayPage = (log: Log): LivePage & { readonly follower: Follower } => {
  const page = openLivePage(windowMs)
  const take = recordsFor(page.take)
  const follower: Follower = {
    recorded(_, entry) {
      try {
        if (entry !== undefined) take(entry)
      } catch (error) {
        // It is on record: that it cannot be shown is no reason to hold anything up.
        log.warn(`the live page: ${error instanceof Error ? error.message : String(error)}`)
      }
    },
  }
  return { ...page, follower }
}
