/** Programs of HTTP/3 fall back to TCP in a sandbox with an outbound policy. */
import t from 'tap'
import { whyNoInternet } from '../support/internet/network.ts'
import { whyNoMachines } from '../support/machine.ts'
import { installQuic, quicSuite } from '../support/quic-suite.ts'
import { enterOwnNetwork } from '../support/tunnel-net.ts'
import { skipFile } from '../support/skip-file.ts'

skipFile(whyNoMachines() ?? whyNoInternet())
installQuic()
enterOwnNetwork()
t.setTimeout(400_000)
t.test('QUIC', t => quicSuite(t, 'runc'))
