import { badUsage } from '#relay/base/errors.js'
import { valuesOf, type Given, type Rest, type Values } from '../flag.js'
import { sharedFlags } from './relay.js'

const { config, server, header, ca } = sharedFlags

export const loginFlags = {
  config, server, header, ca,
  'no-browser': {
    type: 'boolean',
    describe: 'print the URL only, for a browser on another machine: paste the URL that it ends at',
  },
  subject: {
    type: 'string', value: 'SUB',
    describe: 'log in for one client of serve: the sub of its tokens from auth.issuer of the file',
  },
  'token-name': {
    type: 'string', value: 'NAME', describe: 'log in for one client of serve: that of this token in auth.tokens',
  },
  device: { type: 'boolean', describe: 'log in by a code, which is entered on another device (RFC 8628)' },
  status: { type: 'boolean', describe: 'list the logins: issuers, scopes, expiry; never a token' },
  json: { type: 'boolean', describe: 'with --status: as JSON' },
} as const

export type LoginFlags = Values<typeof loginFlags>

/** @throws CustomsError BAD_USAGE */
export const readLoginFlags = (given: Given, { words }: Rest): LoginFlags => {
  const flags = valuesOf(loginFlags, given)
  if (flags.json && !flags.status) badUsage('--json goes with --status')
  if (flags.status && words.length > 0) badUsage('--status lists all logins: give no URL')
  if (flags.subject !== undefined && flags.tokenName !== undefined) {
    badUsage('give either --subject or --token-name, not both')
  }
  if (flags.device && flags.noBrowser) badUsage('give either --device or --no-browser, not both')
  return flags
}

export const logoutFlags = {
  all: { type: 'boolean', describe: 'end your logins at all servers' },
  'all-subjects': { type: 'boolean', describe: 'end those of the clients of serve as well' },
} as const

export interface LogoutFlags {
  /** Undefined: all servers. */
  readonly url: string | undefined
  readonly allSubjects: boolean
}

/** @throws CustomsError BAD_USAGE */
export const readLogoutFlags = (given: Given, { words: [url] }: Rest): LogoutFlags => {
  const { all, allSubjects } = valuesOf(logoutFlags, given)
  if (all === (url !== undefined)) badUsage('log out of which server? give its URL, or --all')
  return { url, allSubjects }
}
