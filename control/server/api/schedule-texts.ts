/** What the members of schedules, of their runs, and of versions of volume templates mean. */
import type { Texts } from '../../../shared/http/texts.ts'

const time = '2026-03-04T10:11:12.000Z'

export const scheduleTexts: Texts = {
  'scheduleInput.value': ['Cron expression, instant or duration', '30 2 * * *'],
  'scheduleInput.sandbox': ['Its sandbox; only answered', 'web'],
  'schedule.sandbox': ['Its sandbox', 'web'],
  'data.sandbox': ['Sandbox that the command was submitted to', 'web'],
  'input.workingDir': ['Directory that the command runs in', '/srv'],
  'input.env': ['Variables of the command; their values are masked in answers', { TOKEN: '***' }],
  'input.keepAlive': ['Whether the sandbox stays awake while the command runs', true, true],
  maxExecutions: ['Runs that are kept', 100, 100],
  'data.statusCode': ['HTTP status of submitting the command; 0 when the sandbox could not be reached', 200],
  'data.executedAt': ['When it was due: ISO 8601, in UTC', time],
  'data.processName': ['Process that runs the command; its output is found under this name', 'proc-x95chk91'],
  'data.catchUp': ['Whether it makes up for times that passed while the server was down', true],
  schedules: ['Schedules of the workspace', 3],
  executions: ['Runs in this time', 12],
  executionsByStatus: ['Runs in this time, by how submitting them ended', { succeeded: 11, failed: 1 }],
  'executionsByStatus.succeeded': ['Commands that the sandbox accepted', 11],
  'executionsByStatus.failed': ['Commands that it did not accept, or that could not be submitted', 1],
  since: ['From then on: ISO 8601, in UTC', time],
  until: ['Until then: ISO 8601, in UTC', time],
  'parameter.since': ['From then on: ISO 8601', time],
  'parameter.until': ['Until then, at most seven days after `since` for counts: ISO 8601', time],
  'state.latestVersion': ['Newest version', '2'],
  'state.lastVersionUploadedAt': ['When the newest version was uploaded: ISO 8601, in UTC', time],
  'versions.versionId': ['Id of the version', '2'],
  'versions.contentSize': ['Bytes of what is in it', 5242880],
}
