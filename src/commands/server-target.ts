import { withoutSecrets } from '../audit/secrets.js'
import type { ServerConfiguration } from '../config/configuration.js'

/** The operator's words for a server, without the secrets in them. */
export const targetOf = (server: ServerConfiguration): string => {
  if ('command' in server) return withoutSecrets(server.command.join(' '))
  const { origin, pathname } = new URL(server.url)
  return withoutSecrets(origin + pathname)
}
