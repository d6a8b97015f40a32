import t from 'tap'
import { serverNameOf } from '#relay/config/subject.js'

const commands = [
  // [command line, name]
  ['npx -y @modelcontextprotocol/server-filesystem /data', 'server-filesystem'],
  ['npx -y @modelcontextprotocol/server-filesystem@2026.8.31 /data', 'server-filesystem'],
  ['npx @playwright/mcp@latest --headless', 'playwright-mcp'],
  ['npx -y @angular/cli mcp', 'angular-cli'],
  ['npx -y @sentry/mcp-server@1.2.3', 'sentry-mcp-server'],
  ['npx -y @supabase/mcp-server-supabase', 'mcp-server-supabase'],
  ['npx --registry https://npm.example.com -y weather@1', 'weather'],
  ['npx -y --package=@acme/weather@1.2.3 weather', 'weather'],
  ['npx -p @acme/weather run-it', 'weather'],
  ['npx tsx src/weather.ts', 'weather'],
  ['npm exec -- @acme/weather', 'weather'],
  ['pnpm dlx @acme/weather', 'weather'],
  ['npx -y github:acme/weather', 'weather'],
  ['cmd /c npx -y @acme/weather', 'weather'],
  ['C:\\nodejs\\npx.cmd -y @acme/weather', 'weather'],
  ['node node_modules/@playwright/mcp/cli.js', 'playwright-mcp'],
  ['/usr/bin/node /x/node_modules/a/node_modules/@modelcontextprotocol/server-everything/dist/index.js ' +
    'stdio', 'server-everything'],
  ['C:\\nodejs\\node.exe C:\\x\\node_modules\\context7-mcp\\dist\\index.js', 'context7-mcp'],
  ['./node_modules/.bin/weather', 'weather'],
  ['node --enable-source-maps -r ./hooks.js /opt/weather/dist/index.js', 'weather'],
  ['node /opt/weather/build/server.js', 'weather-server'],
  ['node server.js', 'server'],
  ['node index.js', 'index'],
  ['node ./../index.js', 'index'],
  ['env -u HOME DEBUG=1 TOKEN=a/b node /opt/weather.mjs', 'weather'],
  ['/usr/bin/env NODE_ENV=x npx -y @acme/weather', 'weather'],
  ['python -m mcp_server_fetch', 'mcp_server_fetch'],
  ['python3 -W ignore /opt/weather.py', 'weather'],
  ['uvx mcp-server-git --repository /x', 'mcp-server-git'],
  ['uvx --from git+https://github.com/oraios/serena@v1 serena start', 'serena'],
  ['uvx weather[cli]==1.2', 'weather'],
  ['uv --directory /opt/weather run server.py', 'server'],
  ['uv run --with mcp python -m weather', 'weather'],
  ['deno run --allow-net jsr:@acme/weather@1', 'weather'],
  ['bun run weather.ts', 'weather'],
  ['docker run -i --rm -e TOKEN --mount type=bind,src=/a,dst=/b mcp/github:1.2', 'github'],
  ['docker run -i --rm ghcr.io:443/github/github-mcp-server@sha256:0a', 'github-mcp-server'],
  ['podman run --rm -it --name=x weather', 'weather'],
  ['java -cp x -jar /opt/weather.jar', 'weather'],
  ['/opt/weather/bin/weather-mcp', 'weather-mcp'],
  ['weather.exe', 'weather'],
  // Nothing is run that has a name.
  ['node -e process.exit()', 'node'],
  ['python3 -c pass', 'python3'],
  ['npx', 'npx'],
  ['node', 'node'],
  ['sh -c weather', 'sh'],
  // Not for a file's name.
  ['..', 'server'],
  ['/opt/../../', 'opt'],
  ['wetter-süd', 'wetter-s-d'],
  ['a'.repeat(100), 'a'.repeat(64)],
] as const

for (const [line, name] of commands) {
  t.test(`${line} is called ${name}`, t => {
    t.equal(serverNameOf({ command: line.split(' '), url: undefined }), name)
    t.end()
  })
}

t.test('a URL is named after its host', t => {
  t.equal(serverNameOf({ url: 'https://mcp.example.com:8443/x', command: undefined }), 'mcp.example.com')
  t.equal(serverNameOf({ url: 'http://[::1]:80/', command: undefined }), '1')
  t.equal(serverNameOf({ url: 'nonsense', command: undefined }), 'server')
  t.end()
})
