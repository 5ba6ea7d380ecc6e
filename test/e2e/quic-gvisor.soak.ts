/** Programs of HTTP/3 fall back to TCP in a sandbox with an outbound policy, where the kernel is gVisor. */
import t from 'tap'
import { whyNoInternet } from '../support/internet/network.ts'
import { whyNoMachines } from '../support/machine.ts'
import { installQuic, quicSuite } from '../support/quic-suite.ts'
import { enterOwnNetwork } from '../support/tunnel-net.ts'

const why = whyNoMachines('runsc') ?? whyNoInternet()
if (why) {
  t.pass(`skipped: ${why}`, { skip: why })
  process.exit(0)
}
installQuic()
enterOwnNetwork()
t.setTimeout(400_000)
t.test('QUIC', t => quicSuite(t, 'runsc'))
