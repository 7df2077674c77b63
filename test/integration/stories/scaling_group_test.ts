import { testStory } from "./told_story.ts";

testStory("scaling-group");
