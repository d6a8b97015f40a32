// The relay before a server of the suite's authorization scenarios: `node login.js facade|outward URL PORT`. The relay is the client
// of the scenario's issuer here, so what the suite tells its client (MCP_CONFORMANCE_CONTEXT) goes to the relay's file.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const [mode, given, port] = process.argv.slice(2)
// The suite's servers name themselves so, and a client compares that with the URL that it was given (RFC 9728, section 3.3).
const url = new URL(given.replace('127.0.0.1', 'localhost'))

/** The relay as a client that its issuer knows already; nothing where the scenario lets clients register. */
async function known() {
  const { client_id: clientId, client_secret: clientSecret } = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}')
  const hasDocument = process.env.MCP_CONFORMANCE_SCENARIO === 'auth/basic-cimd'
  if (clientId === undefined && !hasDocument) return {}
  const metadata = await fetch(new URL(`/.well-known/oauth-protected-resource${url.pathname}`, url))
  const { authorization_servers: [issuer] } = await metadata.json()
  return hasDocument
    ? { issuer, clientMetadataUrl: 'https://conformance-test.local/client-metadata.json' }
    : { issuer, clientId, clientSecret, grant: 'authorization_code' }
}

const folder = mkdtempSync(join(tmpdir(), 'mcp-customs-conformance-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
const file = join(folder, 'customs.json')
writeFileSync(file, JSON.stringify({
  version: 1, policy: 'observe', audit: { file: 'none' },
  ...(mode === 'facade' && { auth: 'facade' }),
  servers: { suite: { url, auth: { ...await known(), ...(mode === 'outward' && { shared: true }) } } },
}))
process.env.XDG_STATE_HOME = folder
process.env.BROWSER = `node ${import.meta.dirname}/../fixtures/browser.mjs`
// The relay starts itself again by this name.
const program = join(import.meta.dirname, '../../dist/cli.js')
process.argv.splice(1, Infinity, program, 'serve', '--trust', '--config', file, '--listen', `127.0.0.1:${port}`)
await import(program)
