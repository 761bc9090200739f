import { overlap, type Range } from './range.js';

export function longest(day: Range, meetings: Range[]): number {
  const parts = meetings.map((meeting) => overlap(day, meeting));
  return Math.max(...parts.map((part) => part.to - part.from));
}

export function busy(day: Range, meetings: Range[]): number {
  let sum = 0;
  for (const meeting of meetings) {
    const part = overlap(day, meeting);
    if (part) sum += part.to - part.from;
  }
  return sum;
}
