import { readData } from './file.js'
import { Setting, type Environment } from './setting.js'
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

export const trustKeys = ['command', 'sha256', 'package', 'url'] as const

const packageName = '(?:@[a-z0-9~-][a-z0-9._~-]*/)?[a-z0-9~-][a-z0-9._~-]*'
const natural = '(?:0|[1-9][0-9]*)'
const exactPackage = new RegExp(
  `^${packageName}@${natural}\\.${natural}\\.${natural}(?:-[0-9A-Za-z.-]+)?(?:\\+[0-9A-Za-z.-]+)?$`,
)

/**
 * A trust-list file: `{ trust: [ … ] }`.
 * @throws CustomsError BAD_CONFIG
 */
export const readTrustList = async (file: string, environment: Environment): Promise<readonly TrustEntry[]> =>
  readTrust(new Setting({ file, environment }, await readData(file)).known(['trust'])('trust'))

export const readTrust = (setting: Setting | undefined): readonly TrustEntry[] => setting?.elements().map(readEntry) ?? []

const readEntry = (setting: Setting): TrustEntry => {
  const at = setting.known(trustKeys)
  const [command, sha256, spec, url] = [at('command'), at('sha256'), at('package'), at('url')]
  if ([command, spec, url].filter(Boolean).length !== 1) {
    return setting.fail('must have exactly one of command, package, url')
  }
  if (sha256 && !command) return sha256.fail('belongs to a command')
  if (spec) return { package: spec.textLike(exactPackage, 'NAME@VERSION with an exact version, such as weather@1.2.3') }
  if (url) return readUrlEntry(url)
  return {
    command: readCommand(command ?? setting),
    ...(sha256 && { sha256: sha256.textLike(/^[0-9a-fA-F]{64}$/, '64 hex digits') }),
  }
}

const readUrlEntry = (setting: Setting): TrustEntry => {
  const url = setting.text()
  if (trustedPrefix(url)) return { url }
  return setting.fail('must be an https URL (http on loopback only) without user, query, fragment or encoded separators')
}

/** The words of a command line: at least one, none of them with a NUL. */
export const readCommand = (setting: Setting): readonly string[] => {
  const words = setting.elements().map(word => word.textLike(/^[^\0]*$/, 'text without NUL'))
  return words[0] ? words : setting.fail('must name a program')
}
