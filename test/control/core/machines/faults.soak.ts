/** Every call, also when it took effect before the host was no more. */
import './faults.test.ts'
