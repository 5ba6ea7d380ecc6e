/** What an error says of a start that failed: its own words alone. */
import { join } from 'node:path'
import t from 'tap'
import { lastWords } from '../../../../control/drivers/oci/start.ts'

t.test(
  'what an earlier life has put out is not said again; of much the end is, and the runtime’s log where there is nothing',
  async t => {
    const before = 'a daemon of yesterday\n'
    const long = `${'x'.repeat(2_000)} its end\n`
    const dir = t.testdir({
      output: `${before}overlay: no space\n`,
      long: before + long,
      silent: before,
      log: 'the runtime\n',
    })
    const said = (output: string, runtimeLog: string) =>
      lastWords({ output: join(dir, output), runtimeLog: join(dir, runtimeLog) }, before.length)
    t.equal(await said('output', 'log'), 'overlay: no space')
    t.equal(await said('long', 'log'), long.slice(-1_500).trim())
    t.equal(await said('silent', 'log'), 'the runtime')
    t.equal(await said('none', 'none'), 'it said nothing')
  },
)
