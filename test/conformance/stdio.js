// The same server as server.js, for a client that starts it as a process.
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { fixtureServer } from './fixtures.js'

serveStdio(() => {
  const server = fixtureServer({ toolsChanged: () => server.sendToolListChanged(), promptsChanged: () => server.sendPromptListChanged() })
  return server
})
