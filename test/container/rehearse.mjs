// Builds the image without an engine, and runs it as compose.yaml and the manifests say. Usage: rehearse.mjs WORK BASE, as
// root in a mount and process namespace of its own.
import assert from 'node:assert/strict'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parse, parseAllDocuments } from 'yaml'
import { startContainer } from './container.mjs'
import { buildImage } from './image.mjs'

const [work, base] = process.argv.slice(2)
const read = file => readFileSync(file, 'utf8')

// The way to it must be open to the image's user; mktemp's folder is not.
chmodSync(work, 0o711)
const image = buildImage(work, base)
const start = options => startContainer(image, work, options)
const passed = what => console.log(`ok: ${what}`)

// What is in the image.
const app = join(image.root, 'app')
assert.deepEqual(readdirSync(app).sort(), ['config', 'dist', 'node_modules', 'package.json'])
const { dependencies, devDependencies, peerDependencies } = JSON.parse(read('package.json'))
const peers = Object.keys(peerDependencies).filter(name => name !== '@modelcontextprotocol/sdk')
const installed = name => existsSync(join(app, 'node_modules', name))
assert.equal(peers.length, 11)
assert.deepEqual([...Object.keys(dependencies), ...peers].filter(name => !installed(name)), [])
assert.deepEqual(Object.keys(devDependencies).filter(name => installed(name) && !peers.includes(name)), [])
passed('the image has what it needs, telemetry and shared state too, and no development dependencies')

// A host name for each service of compose.yaml, all on the container's loopback.
const hosts = join(work, 'hosts')
writeFileSync(hosts, '127.0.0.1 localhost relay server\n')
const demo = [[resolve('docker/demo'), '/demo'], [hosts, '/etc/hosts']]

{
  const orphan = 'echo orphan $$ >&2; exec sleep 0.2'
  const server = `(sh -c '${orphan}' &); exec node /demo/lying-server.mjs`
  const container = await start({ args: ['wrap', '--audit', 'none', '--', 'sh', '-c', server], mounts: demo })
  await container.until('an orphan', () => /orphan \d+/.test(container.output.stderr))
  const [, pid] = /orphan (\d+)/.exec(container.output.stderr)
  await container.until('PID 1 reaps an orphan', () => !container.exec('ls', '/proc').split('\n').includes(pid))
  assert.match(container.exec('id'), /^uid=1000\S* gid=1000\S*(?: groups=1000\S*)?$/m)
  assert.match(container.exec('cat', '/proc/1/status'), /^CapEff:\t0+$/m)
  assert.match(container.exec('cat', '/proc/1/comm'), /^tini$/m)
  assert.throws(() => container.exec('touch', '/tmp/file'), /Read-only file system/)
  assert.throws(() => container.exec('touch', '/app/file'), /Read-only file system/)
  const [, version] = /^ARG NODE_VERSION=(\S+)/m.exec(read('Dockerfile'))
  assert(container.exec('node', '--version').startsWith(`v${version}`))
  container.stdin.end()
  assert.equal(await container.exited, 0)
  passed('wrap, unprivileged on a read-only root; PID 1 reaps')
}

const readyz = container => container.beside('curl', '--silent', '--fail', 'http://127.0.0.1:7401/readyz')

{
  const { services: { relay, server } } = parse(read('docker/compose.yaml'))
  const container = await start({ args: relay.command, mounts: demo })
  await container.until('the health check', () => container.exec(...image.health) === '')
  assert.throws(() => readyz(container), 'ready without its server')
  container.background(...server.command)
  await container.until('ready', () => readyz(container))
  const readme = read('docker/README.md')
  const [, commands] = /<!-- a block -->\n+```sh\n(.*?)```/s.exec(readme)
  const answer = container.beside('bash', '-c', commands)
  assert.match(answer, /21\.5/)
  assert.match(answer, /withheld by mcp-customs: result\/schema/)
  const [, file] = /audit verify (\S+)/.exec(readme)
  assert.match(container.exec('node', '/app/dist/cli.js', 'audit', 'verify', file), /ok, \d+ records/)
  const [log] = readdirSync(container.volumes[0]).filter(name => /^weather\..*\.ndjson$/.test(name))
  assert.match(read(join(container.volumes[0], log)), /"verdict":"block"/)
  const [, metric] = /metrics \| grep (\S+)/.exec(readme)
  const metrics = container.beside('curl', '--silent', 'http://127.0.0.1:7401/metrics')
  assert.match(metrics, new RegExp(`^\\S*${metric}{.*result/schema.*} 1$`, 'm'))
  assert.equal(await container.stop(), 0)
  passed('compose: healthy, ready, and the README\'s block; SIGTERM ends it')
}

const manifestsOf = file => parseAllDocuments(read(`docker/kubernetes/${file}`)).map(document => document.toJS())
const pod = file => manifestsOf(file).find(({ kind }) => ['Deployment', 'StatefulSet'].includes(kind)).spec.template.spec
/** As the kubelet asks. */
const probe = (container, { httpGet: { path, port } }, { ports }) => () => {
  const { containerPort } = ports.find(({ name }) => name === port)
  return container.beside('curl', '--silent', '--fail', `http://127.0.0.1:${containerPort}${path}`)
}
/** The HTTP status of a message that means nothing. */
const statusOf = (container, path, header) => container.beside(
  'curl', '--silent', '--output', '/dev/null', '--write-out', '%{http_code}', '--header', header, '--json', '{}',
  `http://127.0.0.1:7400${path}`,
)
const name = 'pod-1'
const expand = args => args.map(text => text.replaceAll('$(POD_NAME)', name))

{
  const { containers: [relay], initContainers: [server] } = pod('sidecar.yaml')
  const container = await start({ args: expand(relay.args), mounts: demo })
  await container.until('started', probe(container, relay.startupProbe, relay))
  container.background('node', '/demo/lying-server.mjs', ...server.args)
  await container.until('ready', probe(container, relay.readinessProbe, relay))
  const status = host => statusOf(container, '/mcp', `Host: ${host}`)
  assert.equal(status('elsewhere.example'), '403')
  assert.notEqual(status('weather'), '403')
  const log = relay.args.find(text => text.startsWith('--audit=')).replace('--audit=', '')
  container.exec('test', '-f', ...expand([log]))
  assert.equal(await container.stop(), 0)
  passed('sidecar: started, ready, its names alone are answered')
}

{
  const { containers: [gateway] } = pod('gateway.yaml')
  const folder = join(work, 'configmap')
  mkdirSync(folder)
  const { data } = manifestsOf('gateway.yaml').find(({ kind }) => kind === 'ConfigMap')
  for (const [file, text] of Object.entries(data)) writeFileSync(join(folder, file), text)
  // Placeholders are refused.
  const [{ stringData: placeholders }] = manifestsOf('secret.yaml')
  const stringData = Object.fromEntries(Object.entries(placeholders).map(([key, value]) => [key, value.replace('replace-me', 'k'.repeat(64))]))
  const mounts = [[folder, '/etc/mcp-customs'], [hosts, '/etc/hosts']]
  const container = await start({ args: gateway.args, env: { ...stringData, POD_NAME: name, POD_IP: '127.0.0.1' }, mounts })
  await container.until('started', probe(container, gateway.startupProbe, gateway))
  await container.until('in service', probe(container, gateway.readinessProbe, gateway))
  assert.equal(statusOf(container, '/files/mcp', 'Authorization: Bearer wrong'), '401')
  assert.notEqual(statusOf(container, '/files/mcp', `Authorization: Bearer ${stringData.CLIENT_TOKEN}`), '401')
  assert.equal(await container.stop(), 0)
  passed('gateway: in service with the ConfigMap\'s configuration and the Secret\'s tokens')

  // The image's own CMD reads the same file.
  const usual = await start({ env: { ...stringData, POD_NAME: name, POD_IP: '127.0.0.1' }, mounts })
  await usual.until('the health check', () => usual.exec(...image.health) === '')
  assert.equal(await usual.stop(), 0)
  passed('the image without arguments serves /etc/mcp-customs/customs.yaml')
}
