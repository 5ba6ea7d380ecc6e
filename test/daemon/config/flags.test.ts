import t from 'tap'
import { parseFlags } from '../../../daemon/config/flags.ts'

t.test('one dash and two are the same, -p wins over --port', async t => {
  t.same(parseFlags([]), { port: 8080, host: undefined, command: undefined, user: undefined, telemetry: true })
  t.equal(parseFlags(['--port', '9000']).port, 9000)
  t.equal(parseFlags(['-port', '9000']).port, 9000)
  t.equal(parseFlags(['-port=9000']).port, 9000)
  t.equal(parseFlags(['-p', '9001', '--port', '9000']).port, 9001)
  t.equal(parseFlags(['-p', '8080', '--port', '9000']).port, 9000, 'unless -p says the default')
  t.equal(parseFlags(['-p=0']).port, 0)
  t.equal(parseFlags(['-host', '127.0.0.1']).host, '127.0.0.1')
  t.equal(parseFlags(['-host', '::1']).host, '::1')
  t.equal(parseFlags(['-p', '1', '-p', '2']).port, 2, 'the last of several')
  t.equal(parseFlags(['-c', 'npm start']).command, 'npm start')
  t.equal(parseFlags(['-command', 'npm start']).command, 'npm start')
  t.equal(parseFlags(['--user', 'app:grp']).user, 'app:grp')
  t.equal(parseFlags(['-c=a=b\nc']).command, 'a=b\nc')
  t.equal(parseFlags(['-c', '-x', '--user', 'app']).command, '-x', 'a value may begin with a dash')
  t.equal(parseFlags(['-disable-telemetry']).telemetry, false)
  t.equal(parseFlags(['-disable-telemetry=1', '-p', '3']).telemetry, false)
  t.equal(parseFlags(['--disable-telemetry=false']).telemetry, true)
})

t.test('an unknown flag or a bad port is refused', async t => {
  for (const argv of [
    ['--nope'],
    ['-p', 'x'],
    ['-p', '65536'],
    ['-host', 'example.com'],
    ['--port=-1'],
    ['extra'],
    ['--port'],
    ['--'],
    ['-'],
    ['---p'],
  ])
    t.throws(() => parseFlags(argv), { code: 'invalid_argument' }, argv.join(' '))
  t.throws(() => parseFlags(['-port', 'x']), { message: '-port: must be a port' })
  t.throws(() => parseFlags(['-disable-telemetry=maybe']), { message: /^-disable-telemetry: / })
})
