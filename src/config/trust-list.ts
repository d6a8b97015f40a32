import type { Environment } from './environment.js'
import { readChecked } from './file.js'
import { isTrustList } from './generated/checks.js'
import type * as Written from './generated/types.js'
import { fail, type Keys } from './problem.js'
import { trustedPrefix } from './trusted-url.js'

/** One line of the operator's word; what each means is in `trust.ts`, `trusted-package.ts` and `trusted-url.ts`. */
export type TrustEntry =
  | {
      /** The first words of the command, exactly. */
      readonly command: readonly string[]
      /** Hex digest of the file that the last of these words names. */
      readonly sha256?: string
    }
  /** `NAME@VERSION`. */
  | { readonly package: string }
  | { readonly url: string }

/**
 * A trust-list file: `{ trust: [ … ] }`.
 * @throws CustomsError BAD_CONFIG
 */
export const readTrustList = (file: string, environment: Environment): Promise<readonly TrustEntry[]> =>
  readChecked(file, environment, isTrustList, ({ trust }) => readTrust(trust))

export const readTrust = (written: Written.Trust = []): readonly TrustEntry[] => written.map((entry, index) => readEntry(entry, ['trust', index]))

const readEntry = ({ command, sha256, package: spec, url }: Written.TrustEntry, keys: Keys): TrustEntry => {
  if (command !== undefined) return { command, ...(sha256 !== undefined && { sha256 }) }
  if (spec !== undefined) return { package: spec }
  if (url !== undefined && trustedPrefix(url)) return { url }
  return fail([...keys, 'url'], 'must be an https URL (http on loopback only) without user, query, fragment or encoded separators')
}
