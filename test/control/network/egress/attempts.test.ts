/** Ways out that must not be: each is tried under a policy that forbids it, and most again under an open one, where it must work. */
import t from 'tap'
import { startInternet, type Internet } from '../../../support/internet/index.ts'
import { whyNoInternet } from '../../../support/internet/network.ts'
import { enterOwnNetwork } from '../../../support/tunnel-net.ts'
import { addressAttempts } from './attempts/addresses.ts'
import { agreement } from './attempts/agreement.ts'
import { usualPolicy, type Attempt } from './attempts/attempt.ts'
import { dns } from './attempts/dns.ts'
import { hellos } from './attempts/hello.ts'
import { names } from './attempts/names.ts'
import { paths } from './attempts/paths.ts'
import { smuggling } from './attempts/smuggling.ts'

const families = { names, addresses: addressAttempts, agreement, 'TLS hellos': hellos, smuggling, paths, DNS: dns }

const attemptOn = async (internet: Internet, attempt: Attempt, policy: object, token: string) => {
  internet.egress.remove('sandbox')
  internet.egress.setPolicy('sandbox', policy)
  await attempt.run({ ...internet, token })
  // What has been sent may still be on its way.
  await new Promise(resolve => setTimeout(resolve, 30))
  return internet.reached(token)
}

const run = async () => {
  const internet = await startInternet()
  t.teardown(() => internet.close())
  let count = 0
  for (const [family, attempts] of Object.entries(families))
    await t.test(family, async t => {
      for (const attempt of attempts) {
        count++
        const out = await attemptOn(internet, attempt, attempt.policy ?? usualPolicy, `tok${count}n`)
        t.same(out, [], `${attempt.name}: reaches nobody`)
        if (!attempt.passesWhenOpen) continue
        const noticed = await attemptOn(internet, attempt, {}, `tok${count}o`)
        t.ok(noticed.length > 0, `${attempt.name}: would be noticed`)
      }
    })
  t.ok(count >= 100, `${count} attempts`)
  t.same(internet.errors, [], 'the engine has logged no error')
}

const missing = whyNoInternet()
if (missing) t.pass('skipped', { skip: missing })
else {
  enterOwnNetwork()
  t.setTimeout(240_000)
  await run()
}
