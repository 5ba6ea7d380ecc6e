/** Every lie of test/programs/liar.py to every question, by the first process of a sandbox of gVisor. */
import t from 'tap'
import { whyNoInternet } from '../support/internet/network.ts'
import { startWorld } from '../support/internet/world.ts'
import { hostileBundle } from '../support/hijacked-suite.ts'
import { triesOfLiar } from '../support/liar-suite.ts'
import { whyNoMachines } from '../support/machine.ts'
import { enterOwnNetwork } from '../support/tunnel-net.ts'
import { skipFile } from '../support/skip-file.ts'

skipFile(whyNoMachines('runsc') ?? whyNoInternet())
enterOwnNetwork()
t.setTimeout(1_200_000)
t.test('a daemon that lies, on gVisor', async t => {
  const settings = {
    HUTCH_RUNTIME: 'runsc',
    HUTCH_STANDBY_SECONDS: '600',
    HUTCH_BUNDLE_DIR: hostileBundle(t.testdir()),
  }
  const { server } = await startWorld(t, settings)
  await triesOfLiar(t, server, true)
})
