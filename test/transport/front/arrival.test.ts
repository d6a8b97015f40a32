import t from 'tap'
import { clientOf } from '../../../dist/transport/front/arrival.js'

t.test('an address of IPv6 stands for its network', t => {
  const cases = [
    ['2001:db8:1:2::1', '2001:db8:1:2:ffff:ffff:ffff:ffff', true],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::', true],
    ['2001:db8::1', '2001:db8:0:0:1::', true],
    ['2001:db8:1:2::1', '2001:db8:1:3::1', false],
    ['::1', '1::', false],
    ['fe80::1%eth0', 'fe80::2%eth0', false],
    ['192.0.2.1', '192.0.2.2', false],
    ['192.0.2.1', '192.0.2.1', true],
    ['', '', true],
  ] as const
  for (const [one, other, same] of cases) {
    const [first, second] = [one, other].map(address => clientOf({ address, token: undefined }))
    t.equal(first === second, same, `${one} and ${other}`)
  }
  t.notSame(clientOf({ address: '::1', token: 0 }), clientOf({ address: '::1', token: 1 }))
  t.end()
})
