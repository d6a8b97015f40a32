import t from 'tap'
import { isLoopback, isPrivate } from '#relay/base/addresses.js'
import { isLocal } from '#relay/host/server/login.js'
import { Gate } from '#relay/transport/front/gate.js'
import { usesProxy } from '#relay/transport/upstream/pool.js'

const hosts: readonly (readonly [host: string, isLoopback: boolean, isPrivate: boolean])[] = [
  ['localhost', true, true], ['127.0.0.1', true, true], ['127.0.0.2', true, true], ['127.255.255.254', true, true],
  ['[::1]', true, true], ['[::ffff:7f00:1]', true, true], ['0.0.0.0', false, true], ['[::]', false, true],
  ['10.0.0.1', false, true], ['192.168.1.1', false, true], ['169.254.169.254', false, true],
  ['[fe80::1]', false, true], ['[fd00::1]', false, true], ['[::ffff:a00:1]', false, true],
  ['128.0.0.1', false, false], ['8.8.8.8', false, false], ['[2606:4700::1111]', false, false],
  ['127.0.0.1.example.com', false, false], ['localhost.example.com', false, false], ['127.1', false, false],
  ['localhostt', false, false], ['', false, false],
]

t.test('loopback is the same wherever a decision depends on it', t => {
  process.env['HTTP_PROXY'] = 'http://proxy.example.com:3128'
  const gate = new Gate({ host: 'relay.example.com', allowHosts: [], allowOrigins: [], tokens: [] })
  for (const [host, loopback, address] of hosts) {
    t.equal(isLoopback(host), loopback, `${host} is loopback`)
    t.equal(isPrivate(host), address, `${host} is private`)
    t.equal(gate.checkNames({ url: '/mcp', headers: { host } }) === undefined, loopback, `Host: ${host}`)
    const listen = { host: host.replace(/[[\]]/g, ''), port: 8080 }
    t.equal(isLocal({ listen, issuer: undefined, tokens: [], allowHosts: [] }), loopback, `listens on ${host}`)
    if (host === '') continue
    const url = new URL(`http://${host}`)
    t.equal(usesProxy(url), !isLoopback(url.hostname), `${host} by a proxy`)
    const own = new Gate({ host: '127.0.0.1', allowHosts: [], allowOrigins: [], tokens: [] })
    const names = { url: '/mcp', headers: { host: '127.0.0.1', origin: url.origin } }
    t.equal(own.checkNames(names) === undefined, isLoopback(url.hostname), `Origin: ${url.origin}`)
  }
  t.equal(usesProxy(new URL('http://app.localhost')), false, 'names below localhost (RFC 6761, section 6.3)')
  t.end()
})
