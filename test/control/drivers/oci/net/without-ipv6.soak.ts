/** The tests of network slots on a kernel that was told to have no IPv6, which answers every word on it with an error. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { skipFile } from '../../../../support/skip-file.ts'
import { runInUml, whyNoUml } from '../../../../support/uml.ts'

skipFile(whyNoUml())

const dir = mkdtempSync(join(tmpdir(), 'hutch-uml-'))
t.teardown(() => rmSync(dir, { recursive: true, force: true }))
const lines = `test ! -e /proc/sys/net/ipv6 &&
busybox insmod /usr/lib/uml/modules/$(uname -r)/kernel/drivers/net/veth.ko &&
node --disable-warning=ExperimentalWarning test/control/drivers/oci/net/link.test.ts`
const { out, code } = await runInUml(dir, lines, ['ipv6.disable=1'])
t.equal(code, 0, code === 0 ? 'it ended well' : out.slice(-6_000))
t.match(out, /^ok \d+ - a slot has its own end of the pair/m)
