import t from 'tap'
import { stdioExchange } from '#relay/core/event.js'
import { NamedExchanges } from '#relay/core/event.js'

t.test('a name belongs to one exchange of one session', t => {
  const [exchanges, others] = [new NamedExchanges(), new NamedExchanges()]
  const a = exchanges.of('a')
  t.equal(a.name, 'a')
  t.equal(exchanges.of('a'), a)
  t.not(exchanges.of('b'), a)
  t.not(others.of('a'), a)
  t.end()
})

t.test('the stdio exchange is the same in all sessions', t => {
  t.equal(new NamedExchanges().of('stdio'), stdioExchange)
  t.end()
})
