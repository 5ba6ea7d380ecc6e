/** What users of its own cost a sandbox: two servers on one box, one whose sandboxes have them and one whose have not. */
import { whyNoOwnUsers } from '../support/users.ts'
import { scratch } from './child.ts'
import { measuredHost, type MeasuredHost } from './host-server.ts'
import { inTurns, timeOf, type Bench } from './measure.ts'
import { percentile, row, type Row } from './report.ts'

const rounds = 25

/** Milliseconds from the create to the result of the first command. */
const createToExec = (host: MeasuredHost) => async (round: number) => {
  const name = `users-${round}`
  const took = await timeOf(async () => {
    await host.create(name)
    await host.exec(name, 'true')
  })
  await host.remove([name])
  return took
}

export const ownUsers = async (bench: Bench): Promise<Row[]> => {
  const why = await whyNoOwnUsers(scratch(bench, 'users'))
  if (why) {
    bench.skip('host.create-exec.own-users', why)
    return []
  }
  bench.say('create to the first exec, with users of its own and without')
  const [own, shared] = await Promise.all([
    measuredHost(bench, { HUTCH_USER_NAMESPACES: 'on' }),
    measuredHost(bench, { HUTCH_USER_NAMESPACES: 'off' }),
  ])
  const ways = { own: createToExec(own), shared: createToExec(shared) }
  await inTurns(2, { own: () => ways.own(1_000), shared: () => ways.shared(1_000) })
  const took = await inTurns(rounds, ways)
  return [
    row('host.create-exec.own-users.p50', percentile(took.own, 0.5), 'ms', percentile(took.shared, 0.5)),
    row('host.create-exec.own-users.p95', percentile(took.own, 0.95), 'ms', percentile(took.shared, 0.95)),
  ]
}
