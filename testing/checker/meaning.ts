import type { Anomaly } from './anomaly.ts'

/** The exact meaning of each name, as `check()` judges it. */
export const MEANING: Readonly<Record<Anomaly, string>> = {
  'A1 lost':
    'A message that the broker had confirmed is gone from it at the end, without an effect of its subject and payload, and without a confirmed copy. A mark that rightly has no effect, and a person who calls it done, stand for the effect.',
  'A2 duplicate tx':
    'A second effect of one subject and payload was committed with a mark, and no person had let it run again.',
  'A2 duplicate attempt':
    'A second call for one subject and payload left a process, and no person had let it run again.',
  'A2 duplicate accepted':
    'A second effect of one subject and payload was accepted by the provider, and no person had let it run again.',
  'A3 settle before mark':
    'The broker accepted an ack, or a commit that covers it, when neither a mark for its subject and payload nor a confirmed copy of it had ever been written.',
  'A4a effect without mark':
    'At the end an effect has no mark. Not judged where its message is still on the broker, parked or dead-lettered, where the store lost its record, where retention has ended, and where a person let it run again.',
  'A4b mark without effect':
    'At the end a mark has no effect, and does not say that it has none. Not judged where its message was dead-lettered, or the store lost its record.',
  'A5 stale write':
    'The store wrote for one owner over what another owner was processing, over a mark, or over what was set aside; or granted a claim there, before the lease or the retention had ended. What nobody owns may be marked late; what is sent again may be answered again.',
  'A6 stale effect':
    'An effect by an owner after a claim with a higher fence was granted; in a transaction: after any later claim.',
  'A7 overlap': 'A handler began while another of its subject was running in a living process.',
  'A8 order':
    'The first effect of a message came while an earlier one of its lane had none yet, was not set aside, and had no confirmed copy. Not judged for what went to a retry place.',
  'A9 wrong settle':
    'An ack through another channel than the one that delivered; a commit by an epoch that is over; a committed offset that goes back, or over a message that no epoch was ever given.',
  'A10 false duplicate':
    'A delivery was told to be a duplicate of a subject and payload that had no effect before, and no mark that rightly has none.',
  'A11 window miss':
    'A second effect after the mark of the first had expired, of a message that was not sent after that mark, and nobody told of it.',
  'A12 phantom': 'An effect of what was never sent; or a committed one of a handler that had failed.',
  'A13 unknown as failure':
    'A release by who had asked for a mark and was not refused, or without doubt by whose handler may have had its effect; a plain claim of, or giving up, what is in doubt; an attempt that no granted claim accounts for; attempts called spent that are not; a handler that starts when they are.',
  'A14 dead letter and effect':
    'A confirmed dead letter says given up by its handler or its attempts, and its effect happened; no person reopened it in between, and the store never lost its record.',
  'A15 unfounded dead letter':
    'A dead letter for a conflict of what was sent with one payload only, for want of an ID that it has, for a failure that no handler told of, or for doubt where the promise is to run it again.',
  'L1 stall':
    'A message lies in the broker still when all faults are over and the drain has had its time, or the drain had no end.',
  'L2 stuck lease':
    'A record is processing at the end, and the lease of the last claim and renewal is over. Not judged where the store lost it before.',
  'L3 storm': 'One message was delivered more often than the rules say.',
  'L4 growth':
    'Heap, records or open transactions of one process: after a fifth of the samples as warm-up, the median of the last third is above 1.5 times that of the first third, and a little more.',
  'L5 hang':
    'A call did not end within the time that it has, by true time, while its process lived; what the process stood still is left out.',
}
