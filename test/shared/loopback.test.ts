import t from 'tap'
import { isLoopback } from '../../shared/loopback.ts'

t.test('what is this machine', async t => {
  for (const host of ['127.0.0.1', '127.1.2.3', '::1', '::ffff:127.0.0.1', 'localhost', 'LocalHost'])
    t.ok(isLoopback(host), host)
  for (const host of ['', '0.0.0.0', '::', '10.0.0.1', '127.0.0.1.example.com', 'localhost.example.com', '::127.0.0.1'])
    t.notOk(isLoopback(host), host)
})
