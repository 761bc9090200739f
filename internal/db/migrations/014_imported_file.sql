-- Which file an import took a task from, below the project if it is there; NULL if nobody knows. Two checklists may call their tasks the same.
ALTER TABLE imported ADD COLUMN file TEXT;
